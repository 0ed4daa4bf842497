"""The history: calls with their turns, transitions, verdicts, alerts and notices in one SQLite file.

    settings.py    the section `history`
    schema.py      the tables, their versions, and how a file is opened
    sink.py        takes events, writes them in batches, holds them while the disk refuses
    store.py       one batch, one transaction
    runs.py        which run an event belongs to, and whether it is known already
    rows.py        one event -> the rows that it changes
    seen.py        which numbers of a run are written
    writers.py     which programs write here, and whether they live
    retention.py   what is old goes, in small steps
    baselines.py   what was usual for each agent
    following.py   what can be said of a call that was followed from beginning to end
    held.py        what is not written yet
    reading.py     calls as `turnwatch calls` shows them
    details.py     all that is kept of one call

**What is one call.** (`call`, `seq`) identifies an event, but only within one run of a call: a recording may be watched
again tomorrow with other settings. A run is a call of a site that started at `started_at`. An event of a run that is
written already is dropped, so what MQTT delivers twice, or a tape of a live call that is watched again, counts once; a
tape also fills in what is missing of a call whose program was killed. A call whose source does not know when it started
(a recording) is a new run each time that a program watches it, and is thrown away at its end if another run of that
name has the very same events: then that one counts as watched now.

**What is acknowledged.** `HistorySink.written` counts events that are committed. Commits are synchronous
(`synchronous=FULL`): a commit that was acknowledged survives `kill -9` and a power cut alike. Since a batch is
committed a few times a second at most, that costs a few flushes of the disk a second, whatever the number of calls.
"""
