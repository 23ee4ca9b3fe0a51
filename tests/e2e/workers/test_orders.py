"""fixtures/workers/py-orders: a retried payment, an approval, a refund."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.process import DevProcess, until

HOUR_MS = 3_600_000


@pytest.fixture
def shop(sample: Callable[..., DevProcess]) -> DevProcess:
    return sample("py-orders")


def order(order_id: str, sku: str = "book", quantity: int = 1, **more: Any) -> dict[str, Any]:
    return {"id": order_id, "items": [{"sku": sku, "quantity": quantity, "cents": 4_500}], **more}


def until_state(shop: DevProcess, order_id: str, status: str) -> Any:
    def probe() -> Any:
        seen = shop.get(f"/orders/{order_id}")
        return seen if seen["status"] == status else None

    return until(f"order {order_id} {status}", probe, explain=lambda: shop.last_words)


def test_a_small_order_is_paid_and_shipped_without_anybody_s_approval(shop: DevProcess) -> None:
    shop.post("/orders", order("small"))
    until_state(shop, "small", "waiting")

    shop.advance(HOUR_MS)

    assert until_state(shop, "small", "complete")["output"] == {
        "state": "shipped",
        "paid_cents": 4_500,
        "tracking": "track-small",
    }


def test_a_busy_gateway_is_asked_again(shop: DevProcess) -> None:
    shop.post("/orders", order("busy", busy=2))

    shop.until_output(r"orders/busy.*time to cancel")

    steps = {step["name"]: step for step in shop.instance("orders", "busy")["steps"]}
    assert [attempt["success"] for attempt in steps["charge card-1"]["attempts"]] == [False, False, True]


def test_a_large_order_ships_once_it_is_approved(shop: DevProcess) -> None:
    shop.post("/orders", order("large", quantity=3))
    shop.until_output(r"orders/large approval of a large order")

    shop.post("/orders/large/approval", {"approved": True})
    shop.until_output(r"orders/large.*event received")
    shop.advance(HOUR_MS)

    assert until_state(shop, "large", "complete")["output"]["paid_cents"] == 13_500


def test_a_denied_order_is_refunded(shop: DevProcess) -> None:
    shop.post("/orders", order("denied", quantity=3))

    shop.post("/orders/denied/approval", {"approved": False})

    assert until_state(shop, "denied", "complete")["output"] == {"state": "refunded", "refunded_cents": 13_500}


def test_an_order_that_nobody_decides_on_is_refunded_after_two_days(shop: DevProcess) -> None:
    shop.post("/orders", order("forgotten", quantity=3))
    shop.until_output(r"orders/forgotten approval of a large order")

    shop.advance(49 * HOUR_MS)

    assert until_state(shop, "forgotten", "complete")["output"]["state"] == "refunded"
    shop.until_output(r"nobody decided in time: .*timed out")


def test_what_is_not_in_stock_ends_the_order_before_it_is_paid(shop: DevProcess) -> None:
    shop.post("/orders", order("none", sku="unicorn"))

    assert until_state(shop, "none", "errored")["error"] == {
        "name": "NonRetryableError",
        "message": "not in stock: unicorn",
    }
    assert [step["name"] for step in shop.instance("orders", "none")["steps"]] == ["reserve stock-1"]


def test_orders_go_on_after_the_process_was_killed(sample: Callable[..., DevProcess], shop: DevProcess) -> None:
    shop.post("/orders", order("killed"))
    until_state(shop, "killed", "waiting")

    shop.kill()
    again = sample("py-orders")
    again.advance(HOUR_MS)

    assert until_state(again, "killed", "complete")["output"]["state"] == "shipped"
