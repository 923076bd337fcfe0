"""How the tests run: the same on an idle machine and a busy one."""

from hypothesis import HealthCheck, settings

# Time is no property of a value: a busy machine must not fail a test that holds. The same
# examples every time: a failure in CI is a failure here.
settings.register_profile(
    "steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")
