"""Events to an MQTT 5 broker. What goes where stands in `topics.py`, what becomes of it when the broker is away in
`sink.py`, and how to subscribe with the same settings in `connection.py`."""
