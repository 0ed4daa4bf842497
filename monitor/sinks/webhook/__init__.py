"""Alerts by HTTP POST: to any receiver, to Slack, to PagerDuty. One target, one spool, one circuit, one thread.

A receiver gets the canonical event line as the body, with three headers in the manner of Standard Webhooks
(standardwebhooks.com, specification 1.0.0):

    webhook-id: call-17#42                  the event, the same in every try: drop what you have seen already
    webhook-timestamp: 1764558616           when this try was made, in seconds since 1970
    webhook-signature: v1,K5oZfzN95Z9U…     base64 of HMAC-SHA256 over `<webhook-id>.<webhook-timestamp>.<raw body>`

The last one is there where `webhook.secret` is set. To verify it: take the body as bytes, before any JSON parser;
refuse a timestamp that is more than five minutes off; compute the HMAC; compare in constant time. `signing.verify` does
that, and so do the libraries of Standard Webhooks for a secret of the form `whsec_<base64>`. A receiver that answers
with any 2xx has taken the event; it should do so before its own work, and within `webhook.timeout_s`.

| what the receiver does | then |
|---|---|
| 2xx | it is delivered, and forgotten here |
| away, silent, breaks TLS or HTTP; 407, 408, 421, 425, 429, 5xx | it stays the head of the queue, and is sent again |
| 3xx (nobody follows), 401, 403, 404, 410, other 4xx | the same, after long pauses: people must put it right |
| 400, 409, 413, 415, 422 | this event is at fault: after three tries it is given up, counted as `failed`, and told |
| none of this for `webhook.keep_h` | given up, counted as `failed`, and told |

An alert that was open when the program was killed is ended by the next one: see `open_alerts.py`.

Between tries `circuit.py` decides how long the target is left alone; `Retry-After` prolongs that, within bounds.
"""
