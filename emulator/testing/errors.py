"""What the testing library raises. All are assertion errors: the test has failed, and the text says why.

AssertionError
 +-- WorkflowTestError
      +-- UnreachableStatus   the instance has finished, in another status than the awaited one
      +-- WouldWait           nothing goes on unless time passes or somebody calls
      |    +-- Deadlock       time would not help either: an event that nobody can send
      |    +-- StillRunning   user code awaits something that takes real time
      +-- EngineCrashed       the engine was crashed and not restarted
      +-- NotCrashed          the point of a planned crash was not reached
      +-- UnusedMocks         a mock that no step of an instance ever asked for
      +-- NotDeterministic    a replay of run() went another way
      +-- CrashesDiffer       a crash changed the result or the side effects
      +-- HistoryDiffers      today's code does not follow the history of an earlier instance
RuntimeError
 +-- IntrospectionError      Cloudflare's own refusals of the introspection API
"""

from __future__ import annotations


class WorkflowTestError(AssertionError):
    """Carries the history of the instances it is about in its text."""


class UnreachableStatus(WorkflowTestError):
    """The instance has reached a finite status, and so never reaches the awaited one."""


class WouldWait(WorkflowTestError):
    """The test would hang: for the clock, which moves only when the test moves it."""


class Deadlock(WouldWait):
    """Nothing can go on, however much time passes."""


class StillRunning(WouldWait):
    """User code has been going on for longer than the patience of the test, in real time."""


class EngineCrashed(WorkflowTestError):
    """Something was asked of an engine that was crashed and has not been restarted."""


class NotCrashed(WorkflowTestError):
    """The run has ended or waits without having come to the point of the planned crash."""


class UnusedMocks(WorkflowTestError):
    """A modification names a step, wait or event that the instance never came to."""


class NotDeterministic(WorkflowTestError):
    """Code outside of steps is not deterministic: a replay of run() differs."""


class CrashesDiffer(WorkflowTestError):
    """An instance that survived a crash has ended otherwise than one without."""


class HistoryDiffers(WorkflowTestError):
    """Today's code does not follow the history of an earlier instance."""


class IntrospectionError(RuntimeError):
    """A call of the introspection API that Cloudflare's toolkit refuses, with its message."""
