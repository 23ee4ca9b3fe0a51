"""The fixtures of the tests that run `stepwell dev` as a process."""

from tests.e2e.conftest import dev as dev
from tests.e2e.conftest import project as project
