from datetime import timedelta
from email.utils import format_datetime

import pytest

from mead.errors import TurnFailed
from mead.providers.errors import (
    SENTENCES,
    Details,
    ProviderFault,
    is_passing,
    reason_for_status,
    retry_after_ms,
)
from mead.turn import utc_now


def test_a_fault_is_a_failed_turn_with_a_sentence_for_each_reason():
    for reason, sentence in SENTENCES.items():
        fault = ProviderFault(reason)
        assert isinstance(fault, TurnFailed)
        assert (fault.reason, fault.message, fault.retryable) == (reason, sentence, False)


def test_details_name_what_is_known_and_nothing_else():
    assert Details().text() == ""
    whole = Details(model="m", status=429, error_type="rate_limit_error", request_id="req_1")
    assert whole.text() == "HTTP 429, rate_limit_error, model m, request req_1"
    assert str(ProviderFault("overloaded", "Busy", details=whole)).startswith("Busy (HTTP 429,")


@pytest.mark.parametrize("quoted", ["Two words", "<b>", "sk-key", "x" * 65, "", "a\nb"])
def test_an_error_type_that_is_none_is_left_out(quoted):
    assert Details(error_type=quoted).text() == ""


@pytest.mark.parametrize(
    ("headers", "waited"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2000),
        ({"retry-after": "1.5"}, 1500),
        ({"retry-after": "9", "retry-after-ms": "30"}, 30),
        ({"retry-after": "9", "retry-after-ms": "x"}, 9000),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Sun, 01 Jan 2017 00:00:00 GMT"}, 0),
        ({"retry-after": "Sun, 01 Jan 2017 00:00:00 -0000"}, None),
    ],
)
def test_the_wait_that_a_server_asks_for_is_read_in_every_form(headers, waited):
    assert retry_after_ms(headers) == waited


def test_a_date_is_a_wait_until_then():
    then = format_datetime(utc_now() + timedelta(seconds=60), usegmt=True)
    waited = retry_after_ms({"retry-after": then})
    assert 50_000 < waited <= 60_000


@pytest.mark.parametrize(
    ("status", "reason"),
    [(301, "provider_error"), (418, "invalid_request"), (599, "provider_error")],
)
def test_a_status_without_a_rule_of_its_own_has_a_reason(status, reason):
    assert reason_for_status(status) == reason


def test_only_what_the_rule_names_passes():
    passing = [status for status in range(300, 600) if is_passing(status, "provider_error")]
    assert passing == [429, 500, 502, 503, 504, 529]
    assert not is_passing(429, "spend_limit")
    assert not is_passing(500, "context_too_long")
    assert is_passing(200, "overloaded")
