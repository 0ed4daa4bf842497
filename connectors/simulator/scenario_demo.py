"""The calls that come with the program."""

from __future__ import annotations

from connectors.simulator.scenario import (
    AfterAgent,
    AfterCaller,
    AgentLine,
    AtTime,
    CallerLine,
    IntoAgent,
    OverCaller,
    Scenario,
)

GREETING = AgentLine(AtTime(600), "agent_greeting", "Hi, this is Nora at Swift Parcel. How can I help you?")
HOURS = "Our depot is open from eight to six, Monday to Saturday."
HOUSE = "No problem, a neighbour it is. Which house should we try?"
DIGITS = "Sure, it's four, nine, two, seven."
MY_NEIGHBOUR = "Sorry, no. I just want it left with my neighbour."

DEMO = Scenario(
    name="demo",
    about="a minute at a parcel hotline: quick answers, a slow one, a backchannel, a barge-in, an agent that talks "
    "over the caller, an answer beside the point",
    agent=(
        GREETING,
        AgentLine(
            AfterCaller(450),
            "agent_number",
            "I'm sorry about that. Could you give me the last four digits of your tracking number?",
        ),
        AgentLine(
            AfterCaller(2800),
            "agent_van",
            "Thank you for waiting, I have found it. Your parcel reached our depot this morning, and it is on a van "
            "right now. The driver should be with you between three and five this afternoon.",
        ),
        AgentLine(
            AfterCaller(500),
            "agent_address",
            "Of course, there are three ways to do that. The first is our app, where you open the parcel, choose "
            "delivery options, and type in the new address. The second is our website, where you log in, go to my "
            "parcels, and press change delivery. The third is to call the driver directly, but only after two o'clock.",
        ),
        AgentLine(AfterCaller(600), "agent_neighbour", HOUSE),
        AgentLine(
            OverCaller(3150), "agent_noted", "Got it, number twelve. I have told the driver.", interruptible=False
        ),
        AgentLine(AfterCaller(600), "agent_hours", HOURS),
        AgentLine(AfterCaller(500), "agent_goodbye", "You're welcome. Have a lovely day. Goodbye!"),
    ),
    caller=(
        CallerLine(AfterAgent(0, 500), "caller_late", "Hello. My parcel was due yesterday, and it still hasn't come."),
        CallerLine(AfterAgent(1, 600), "caller_digits", DIGITS),
        CallerLine(IntoAgent(2, 4550), "caller_mhm", "Mm-hm.", backchannel=True),
        CallerLine(AfterAgent(2, 400), "caller_change", "Oh, good. Can I change where it is delivered?"),
        CallerLine(IntoAgent(3, 5600), "caller_neighbour", MY_NEIGHBOUR),
        CallerLine(
            AfterAgent(4, 500),
            "caller_door",
            "Number twelve, it's the house with the green door, right across the street from mine.",
        ),
        CallerLine(AfterAgent(5, 600), "caller_refund", "Great. And what about a refund, since it's late?"),
        CallerLine(AfterAgent(6, 1000), "caller_thanks", "Um, okay, never mind. Thanks for your help."),
    ),
)

SHORT = Scenario(
    name="short",
    about="twelve seconds for tests: an answer, a barge-in, a goodbye",
    agent=(
        AgentLine(AtTime(200), "agent_noted", "Got it, number twelve. I have told the driver."),
        AgentLine(AfterCaller(450), "agent_hours", HOURS),
        AgentLine(AfterCaller(450), "agent_goodbye", "You're welcome. Have a lovely day. Goodbye!"),
    ),
    caller=(
        CallerLine(AfterAgent(0, 400), "caller_digits", DIGITS),
        CallerLine(IntoAgent(1, 1200), "caller_neighbour", MY_NEIGHBOUR),
    ),
    hang_up_ms=400,
)

ASSISTANT = Scenario(
    name="assistant",
    about="for a client of your own: greets, answers whenever you pause, yields when you barge in, never hangs up",
    agent=(
        GREETING,
        AgentLine(AfterCaller(700), DEMO.agent[1].audio, DEMO.agent[1].text),
        AgentLine(AfterCaller(700), DEMO.agent[2].audio, DEMO.agent[2].text),
        AgentLine(AfterCaller(700), DEMO.agent[3].audio, DEMO.agent[3].text),
        AgentLine(AfterCaller(700), "agent_neighbour", HOUSE),
        AgentLine(AfterCaller(700), "agent_hours", HOURS),
    ),
    hang_up_ms=None,
    repeat=True,
)

SCENARIOS: dict[str, Scenario] = {scenario.name: scenario for scenario in (DEMO, ASSISTANT, SHORT)}
"""Name -> scenario, for the command line. A new one is one more row."""
