"""Numbers and anchor sentences of the local judge. Fitted once; how and on what is told in `local_features.py`."""

from __future__ import annotations

from typing import Final

# What agents say whatever they were asked: a reply close to one of these fits nearly everywhere.
GENERIC: Final = (
    "Hello, how can I help you today?",
    "Thank you for calling, this is the assistant.",
    "Sure, one moment please.",
    "Okay, I see.",
    "You're welcome, have a nice day.",
    "Is there anything else I can do for you?",
    "Could you say that again, please?",
    "What do you mean by that?",
    "I'm sorry, I didn't catch that.",
    "Of course, I can help with that.",
    "Yes, that's right.",
    "No problem at all.",
    "Great, thank you.",
    "Could you tell me a bit more?",
    "Goodbye and take care.",
    "Let me check that for you.",
    "Haha, that's funny.",
    "I don't know.",
)

# Sentences about anything: a reply close to all of them is close to everything, and its closeness says less.
STRANGERS: Final = (
    "The weather will be cold with rain in the north.",
    "My brother plays the guitar in a band.",
    "The meeting was moved to the large room.",
    "She grew tomatoes and beans in the garden.",
    "The train to the coast leaves from platform four.",
    "He bought a new phone with a better camera.",
    "Our team lost the match by two goals.",
    "The doctor said the wound is healing well.",
    "You can pay by card or in cash.",
    "I read a long novel about the war.",
    "The museum shows paintings from the last century.",
    "Please sign the form and send it back.",
    "The cake needs butter, eggs and flour.",
    "They are looking for a flat near the park.",
    "The shop opens at nine on weekdays.",
    "Astronomers found water on a distant moon.",
)

# One number for each field of `Comparison`, in its order.
MEAN: Final = (
    0.1631,
    0.1771,
    0.2315,
    0.1492,
    0.0376,
    0.0314,
    0.2250,
    0.0390,
    0.0886,
    0.2877,
    1.9331,
    1.8001,
    -0.0082,
    -0.0461,
    0.2420,
)
SCALE: Final = (
    0.1617,
    0.1803,
    0.1832,
    0.1136,
    0.0250,
    0.0268,
    0.1022,
    0.0440,
    0.2126,
    0.4848,
    0.6500,
    0.7112,
    0.1129,
    0.1796,
    0.4283,
)
WEIGHTS: Final = (
    0.8138,
    0.8523,
    -0.2645,
    0.3454,
    -0.1194,
    -0.1704,
    0.1879,
    -0.4079,
    0.6230,
    -0.5830,
    -0.1999,
    -0.3129,
    -0.0295,
    0.2059,
    0.0380,
)
BIAS: Final = 0.7883
