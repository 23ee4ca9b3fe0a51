"""One instance: what one sees of it, and every action."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.e2e.dashboard.running import Running

Open = Callable[..., Page]


def more(page: Page, action: str) -> None:
    """Through the menu of the header."""
    page.locator("#head").get_by_label("More actions").click()
    page.locator("#head").get_by_role("button", name=action).click()


def test_a_failed_one_shows_the_users_traceback_with_source_lines(shop: Running, open_page: Open) -> None:
    shop.create("orders", "declined", {"card": "bad", "limit": 0})
    shop.idle()
    page = open_page(shop.instance_url("orders", "declined"))

    error = page.locator("#error")
    expect(error.locator("h2")).to_have_text("CardDeclined")
    expect(error.locator(".msg")).to_have_text("card bad was declined by the bank")
    expect(error.locator(".lines .hit")).to_contain_text('raise CardDeclined(f"card {card} was declined')
    expect(error.locator(".code .bar")).to_contain_text("shop.py:")


def test_a_failed_one_says_at_once_where_and_why_and_offers_to_restart_from_there(
    shop: Running, open_page: Open
) -> None:
    shop.create("orders", "why", {"card": "bad", "limit": 0})
    shop.idle()
    page = open_page(shop.instance_url("orders", "why"))

    expect(page.locator("#error .title")).to_contain_text("in charge card")
    expect(page.get_by_text("card bad was declined by the bank", exact=True)).to_have_count(1)
    expect(page.locator("#step-2 .row-error")).to_have_text("CardDeclined: card bad was declined by the bank")
    expect(page.get_by_role("button", name="Restart from failed step")).to_be_in_viewport()
    expect(page.locator("#now")).to_have_count(0)


def test_a_step_opens_beside_the_list_with_attempts_output_and_config(shop: Running, open_page: Open) -> None:
    shop.create("orders", "flaky", {"failures": 1, "delay": 0})
    shop.idle()
    page = open_page(shop.instance_url("orders", "flaky"))
    page.locator("#step-rows a", has_text="charge card").click()

    panel = page.locator("#panel")
    expect(panel.locator(".tries li").first).to_contain_text("Attempt 1")
    expect(panel).to_contain_text("ConnectionError: the bank did not answer (attempt 1)")
    expect(panel.locator(".tries li").last).to_contain_text("Attempt 2")
    expect(panel.locator("#value-step-2 .tree")).to_contain_text("r-flaky")
    expect(panel.locator(".config")).to_contain_text("Retry limit2default 5")
    expect(panel.locator(".config")).not_to_contain_text("Timeout")
    expect(page.locator("#step-rows")).to_be_visible()
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)


def test_a_step_says_the_line_that_called_it_and_what_it_was_given(shop: Running, open_page: Open) -> None:
    shop.create("invoice", "november", {})
    shop.idle()
    page = open_page(shop.instance_url("invoice", "november"))
    page.locator("#step-rows a", has_text="total").click()

    panel = page.locator("#panel")
    expect(panel.locator(".code .bar")).to_contain_text("shop.py:")
    expect(panel.locator(".lines .call")).to_contain_text("await total()")
    expect(panel.locator(".editor-link")).to_have_attribute("href", re.compile("^vscode://file/.*shop.py:"))
    expect(panel.locator(".need > summary")).to_contain_text(["hours", "rate"])
    panel.get_by_text("Result of hours").first.click()
    expect(panel.locator("#value-step-1")).to_contain_text("12")
    expect(panel.locator("#value-step-1")).to_be_visible()
    panel.locator(".ctx > summary").click()
    expect(panel.locator("#value-ctx")).to_contain_text("attempt: 1")

    panel.get_by_text("Result of rate").first.click()
    panel.get_by_role("link", name="Open step").last.click()
    expect(panel.locator(".lines .call")).to_contain_text("@step.do()")


def test_the_timeline_has_a_bar_for_each_attempt_delay_sleep_and_wait(shop: Running, open_page: Open) -> None:
    shop.create("orders", "bars", {"failures": 1, "delay": 10, "sleep": 1})
    shop.idle()
    page = open_page(shop.instance_url("orders", "bars"))

    row = page.locator("#step-rows tr", has_text="charge card")
    expect(row.locator("rect.p")).to_have_count(2, timeout=10_000)
    expect(row.locator(".p-rest.t-hold")).to_have_count(1)
    expect(page.locator("#step-rows .step-row .p-wait")).to_have_count(2)
    expect(page.locator("#step-rows tr", has_text="approval").locator(".p-edge")).to_have_count(1)
    expect(page.locator(".nowline")).to_have_count(1)


def test_a_step_opens_beside_the_graph_where_one_looks(shop: Running, open_page: Open) -> None:
    shop.create("quick", "drawn", {})
    shop.idle()
    page = open_page(shop.instance_url("quick", "drawn") + "?tab=graph")
    expect(page.locator("#live")).to_contain_text("Live")
    page.locator(".graph-svg:visible a.node").first.click()

    expect(page.locator("#panel")).to_be_in_viewport()
    expect(page.locator(".graph-svg:visible")).to_have_count(1)


def test_replays_are_marked_in_the_timeline_and_listed_with_their_reasons(shop: Running, open_page: Open) -> None:
    shop.create("orders", "marked", {"sleep": "2 hours"})
    shop.idle()
    page = open_page(shop.instance_url("orders", "marked"))
    expect(page.locator("#step-rows .p-replay")).to_have_count(0)

    shop.do(lambda: shop.engine.advance(2 * 3_600_000))

    expect(page.locator("#step-rows .p-replay")).to_have_count(1)
    page.get_by_text("1 replay of run()").click()
    expect(page.locator(".passes")).to_contain_text("Pass 2")
    expect(page.locator(".passes")).to_contain_text("a sleep, wait or retry delay ended; code orders-v1")


def test_the_awaited_event_is_sent_from_the_page(shop: Running, open_page: Open) -> None:
    shop.create("orders", "approve-me", {"sleep": 0})
    shop.idle()
    page = open_page(shop.instance_url("orders", "approve-me"))
    page.locator("#now textarea").first.fill('{"by": "Meera"}')
    page.get_by_role("button", name="Send event").first.click()

    expect(page.locator("#head")).to_contain_text("Complete")
    page.get_by_role("link", name="Data").click()
    expect(page.locator("#value-output")).to_contain_text('"Meera"')


def test_the_payload_box_begins_with_the_last_payload_of_the_type(shop: Running, open_page: Open) -> None:
    shop.create("orders", "first", {"sleep": 0})
    shop.create("orders", "second", {"sleep": 0})
    shop.idle()
    page = open_page(shop.instance_url("orders", "first"))
    page.locator("#now textarea").first.fill('{"by": "Farah"}')
    page.get_by_role("button", name="Send event").first.click()
    expect(page.locator("#head")).to_contain_text("Complete")

    page.goto(shop.instance_url("orders", "second"))
    expect(page.locator("#now textarea").first).to_have_value(re.compile("Farah"))


def test_a_payload_that_is_no_json_is_refused_beside_the_button(shop: Running, open_page: Open) -> None:
    shop.create("orders", "bad-payload", {"sleep": 0})
    shop.idle()
    page = open_page(shop.instance_url("orders", "bad-payload"))
    page.locator("#now textarea").first.fill("{oops")
    page.get_by_role("button", name="Send event").first.click()

    expect(page.locator("#now .problem")).to_contain_text("Invalid JSON")
    assert shop.status("orders", "bad-payload") == "waiting"


def test_a_sleep_is_skipped(shop: Running, open_page: Open) -> None:
    shop.create("orders", "sleepy", {})
    shop.idle()
    page = open_page(shop.instance_url("orders", "sleepy"))
    expect(page.locator("#now")).to_contain_text("Sleeping in cool down")
    page.keyboard.press("s")
    expect(page.get_by_role("button", name="Skip sleep")).to_be_focused()
    page.keyboard.press("Enter")

    expect(page.locator("#now")).to_contain_text("Waiting for event approval")


def test_a_retry_delay_is_skipped(shop: Running, open_page: Open) -> None:
    shop.create("orders", "retrying", {"failures": 1, "delay": "1 hour"})
    shop.idle()
    page = open_page(shop.instance_url("orders", "retrying"))
    expect(page.locator("#now")).to_contain_text("Retrying charge card, attempt 2 of 3")
    expect(page.locator("#now")).to_contain_text("the bank did not answer")
    page.get_by_role("button", name="Try again now").click()

    expect(page.locator("#now")).to_contain_text("Sleeping in cool down")


def test_a_wait_is_timed_out_now(shop: Running, open_page: Open) -> None:
    shop.create("orders", "given-up", {"sleep": 0})
    shop.idle()
    page = open_page(shop.instance_url("orders", "given-up"))
    page.get_by_role("button", name="Time out now").click()

    expect(page.locator("#head")).to_contain_text("Errored")
    expect(page.locator("#error")).to_contain_text("Timeout")


def test_pause_and_resume(shop: Running, open_page: Open) -> None:
    shop.create("orders", "pausable", {})
    shop.idle()
    page = open_page(shop.instance_url("orders", "pausable"))
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#now")).to_contain_text("Paused. Timers are frozen until you resume")
    expect(page.get_by_role("button", name="Pause")).to_have_count(0)

    page.locator("#now").get_by_role("button", name="Resume").click()
    expect(page.locator("#now")).to_contain_text("Sleeping in")


def test_terminate_asks_and_keeps_the_reason(shop: Running, open_page: Open) -> None:
    """W12: the history says what happened, with a reason where one was given."""
    shop.create("orders", "unwanted", {})
    shop.idle()
    page = open_page(shop.instance_url("orders", "unwanted"))
    page.get_by_role("button", name="Terminate").first.click()
    expect(page.locator("#ask")).to_contain_text("Terminate unwanted?")
    page.keyboard.press("Escape")
    assert shop.status("orders", "unwanted") == "waiting"

    page.get_by_role("button", name="Terminate").first.click()
    page.locator("#ask input[name='reason']").fill("ordered twice")
    page.keyboard.press("Enter")
    expect(page.locator("#ask .danger")).to_be_focused()
    page.keyboard.press("Enter")

    expect(page.locator("#now")).to_contain_text("Reason: ordered twice")
    page.goto(f"{shop.instance_url('orders', 'unwanted')}?tab=history")
    expect(page.locator(".log-table")).to_contain_text("workflow_terminated")


def test_terminating_with_rollback_runs_the_handlers(shop: Running, open_page: Open) -> None:
    shop.create("orders", "refunded", {})
    shop.idle()
    page = open_page(shop.instance_url("orders", "refunded"))
    page.get_by_role("button", name="Terminate").first.click()
    page.locator("#ask input[name='rollback']").check()
    page.locator("#ask").get_by_role("button", name="Terminate").click()

    expect(page.locator(".head-facts div", has_text="Rollback").locator("dd")).to_have_text("complete")
    expect(page.locator("#step-rows .p.t-undo")).not_to_have_count(0)


def test_a_finished_one_says_why_it_cannot_be_terminated(shop: Running, open_page: Open) -> None:
    shop.create("quick", "over", {})
    shop.idle()
    page = open_page(shop.instance_url("quick", "over"))

    page.get_by_label("More actions").first.click()
    button = page.get_by_role("button", name="Terminate")
    expect(button).to_be_disabled()
    expect(button).to_have_attribute("title", re.compile("finite state"))


def test_restart_asks_and_offers_to_compare_with_before(shop: Running, open_page: Open) -> None:
    shop.create("quick", "again", {"n": 4})
    shop.idle()
    page = open_page(shop.instance_url("quick", "again"))
    page.get_by_role("button", name="Restart", exact=True).click()
    page.locator("#ask").get_by_role("button", name="Restart").click()

    page.get_by_role("link", name="Compare with the previous run").click()
    expect(page.locator("main")).to_contain_text("No differences except times")


def test_restart_from_a_step_keeps_what_came_before(shop: Running, open_page: Open) -> None:
    shop.create("quick", "from-step", {})
    shop.idle()
    before = shop.do(lambda: _history(shop, "from-step"))
    page = open_page(f"{shop.instance_url('quick', 'from-step')}?step=3")
    page.locator("#panel").get_by_role("button", name="Restart from here").click()
    page.locator("#ask").get_by_role("button", name="Restart from here").click()

    expect(page.get_by_role("link", name="Compare with the previous run")).to_be_visible()
    expect(page.locator("#head")).to_contain_text("Complete")
    expect(page.locator("#step-1")).to_contain_text("kept")
    after = shop.do(lambda: _history(shop, "from-step"))
    kept = [entry for entry in before if entry[1].startswith(("step", "attempt"))][:8]  # of the first two steps
    assert set(kept) <= set(after)
    assert after != before


def test_a_row_of_the_timeline_restarts_from_its_step_and_is_asked_about_first(
    shop: Running, open_page: Open
) -> None:
    shop.create("quick", "from-row", {})
    shop.idle()
    page = open_page(shop.instance_url("quick", "from-row"))
    expect(page.locator("#live")).to_have_text("Live")
    again = page.locator("#step-2 .again")
    expect(again.locator("..")).to_have_css("opacity", "0")
    page.locator("#step-2 a").focus()
    page.keyboard.press("Tab")
    expect(again).to_be_focused()

    page.keyboard.press("Enter")
    expect(page.locator("#ask b")).to_have_text("Restart from-row from transform-1?")
    page.keyboard.press("Escape")
    expect(again).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#ask b")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator("#toasts")).to_have_text("Restarted from-row from transform-1")


def test_a_question_is_answered_though_the_close_of_the_one_before_is_told_late(
    shop: Running, open_page: Open
) -> None:
    shop.create("quick", "asked-twice", {})
    shop.idle()
    page = open_page(shop.instance_url("quick", "asked-twice"))
    expect(page.locator("#live")).to_have_text("Live")
    page.get_by_role("button", name="Restart", exact=True).click()
    page.evaluate("document.getElementById('ask').dispatchEvent(new Event('close'))")
    page.keyboard.press("Enter")

    expect(page.locator("#toasts")).to_contain_text("Restarted asked-twice")


async def _history(shop: Running, instance_id: str) -> list[tuple[int, str]]:
    store = shop.engine.store
    key = store.find(next(row.key for row in store.workflows() if row.name == "quick"), instance_id)
    assert key is not None
    return [(entry.event_id, entry.type) for entry in store.history(key)]


def test_delete_asks_and_goes_back_to_the_list(shop: Running, open_page: Open) -> None:
    shop.create("quick", "gone-soon", {})
    shop.idle()
    page = open_page(shop.instance_url("quick", "gone-soon"))
    more(page, "Delete")
    page.locator("#ask").get_by_role("button", name="Delete").click()

    expect(page).to_have_url(re.compile("workflow=quick"))
    page.goto(shop.instance_url("quick", "gone-soon"))
    expect(page.locator("main")).to_contain_text('has no instance "gone-soon"')


def test_create_checks_the_params_and_shows_the_new_instance(shop: Running, open_page: Open) -> None:
    page = open_page(f"{shop.base}/workflows/quick/create")
    page.locator("#params").fill('{"n": 77')
    expect(page.locator("#params-said")).not_to_have_text("valid")
    page.get_by_role("button", name="Create").click()
    expect(page.locator(".problem")).to_contain_text("Invalid JSON")

    page.locator("#params").fill('{"n": 77}')
    page.locator("#new-id").fill("made-here")
    page.get_by_role("button", name="Create").click()

    expect(page.locator("h1")).to_contain_text("made-here")
    page.get_by_role("link", name="Data").click()
    expect(page.locator("#value-params")).to_contain_text("77")


def test_a_taken_id_is_refused_with_cloudflares_words(shop: Running, open_page: Open) -> None:
    shop.create("quick", "taken", {})
    page = open_page(f"{shop.base}/workflows/quick/create")
    page.locator("#new-id").fill("taken")
    page.get_by_role("button", name="Create").click()

    expect(page.locator(".problem")).to_contain_text("instance.already_exists")


def test_several_are_created_at_once(shop: Running, open_page: Open) -> None:
    page = open_page(f"{shop.base}/workflows/hostile/create")
    page.locator("#count").fill("3")
    page.get_by_role("button", name="Create").click()

    expect(page.locator("#rows tr")).to_have_count(3)


def test_duplicate_begins_with_the_old_params_and_keeps_them_beside(shop: Running, open_page: Open) -> None:
    shop.create("quick", "original", {"n": 5})
    shop.idle()
    page = open_page(shop.instance_url("quick", "original"))
    page.get_by_role("link", name="Duplicate").first.click()
    expect(page.locator("#params")).to_have_value(re.compile('"n": 5'))
    expect(page.locator("main pre").first).to_contain_text('"n": 5')

    page.locator("#params").fill('{"n": 6}')
    page.get_by_role("button", name="Create the copy").click()
    page.get_by_role("link", name="Data").click()
    expect(page.locator("#value-params")).to_contain_text("6")


def test_a_duplicate_offers_to_compare_with_its_original(shop: Running, open_page: Open) -> None:
    shop.create("quick", "twin-1", {"n": 1})
    shop.idle()
    page = open_page(f"{shop.base}/workflows/quick/create?like=twin-1")
    page.locator("#params").fill('{"n": 2}')
    page.get_by_role("button", name="Create the copy").click()
    page.get_by_title("Compare with twin-1").click()

    expect(page.locator("main")).to_contain_text("The params differ first: params.n")


def test_a_duplicate_begins_with_results_up_to_a_step_and_one_of_them_replaced(
    shop: Running, open_page: Open
) -> None:
    shop.create("orders", "branchy", {"card": "bad", "limit": 0, "sleep": 0})
    shop.idle()
    page = open_page(f"{shop.instance_url('orders', 'branchy')}?step=2")
    page.get_by_role("link", name="Replace result").click()
    expect(page.locator("#carry")).to_contain_text("Stepwell only")
    page.locator("#new-id").fill("branchy-paid")
    page.locator("#carry-result").fill('{"receipt": "by hand"}')
    page.get_by_role("button", name="Create the copy").click()

    expect(page.locator("#now")).to_contain_text("Waiting for event approval")
    expect(page.locator("#step-rows tr", has_text="charge card")).to_contain_text("reused")
    page.locator("#step-rows a", has_text="charge card").click()
    expect(page.locator("#panel .tree").first).to_contain_text("by hand")


def test_results_cannot_be_carried_up_to_a_step_without_one(shop: Running, open_page: Open) -> None:
    shop.create("orders", "open-wait", {"sleep": 0})
    shop.idle()
    page = open_page(f"{shop.base}/workflows/orders/create?like=open-wait&carry=4")
    page.get_by_role("button", name="Create the copy").click()

    expect(page.locator(".problem")).to_contain_text("approval-1 has no result yet")


def test_a_replay_that_is_the_same_says_how_far_it_came(shop: Running, open_page: Open) -> None:
    shop.create("orders", "replayed", {"sleep": 0})
    shop.idle()
    page = open_page(f"{shop.instance_url('orders', 'replayed')}?tab=advice")
    page.get_by_role("button", name="Check the replay").click()

    expect(page.locator(".replay .notice")).to_contain_text("Replay matches: 4 steps so far")


def test_a_replay_that_differs_names_both_steps_and_the_line(shop: Running, open_page: Open) -> None:
    shop.create("moody", "changes", {})
    shop.idle()
    page = open_page(f"{shop.instance_url('moody', 'changes')}?tab=advice")
    page.get_by_role("button", name="Check the replay").click()

    notice = page.locator(".replay .notice")
    expect(notice).to_contain_text('replay called step "mood 2-1", but the original run called step "mood 1-1"')
    expect(page.locator(".replay .lines .hit")).to_contain_text("step.do(")


def test_a_run_to_compare_with_is_chosen_by_how_it_stands(shop: Running, open_page: Open) -> None:
    shop.create("orders", "to-compare", {"sleep": 0})
    shop.create("orders", "to-compare-with", {"card": "bad", "limit": 0})
    shop.idle()
    page = open_page(f"{shop.instance_url('orders', 'to-compare')}/compare")
    row = page.locator("tr[data-row]", has_text="to-compare-with")
    expect(row).to_contain_text("Errored")
    row.get_by_role("link").click()

    expect(page.locator("table.diff tr .step", has_text="charge card")).to_be_visible()


def test_two_runs_are_compared_step_by_step(shop: Running, open_page: Open) -> None:
    shop.create("quick", "left", {"n": 1})
    shop.create("quick", "right", {"n": 2})
    shop.idle()
    page = open_page(f"{shop.instance_url('quick', 'left')}/compare?with=right")

    expect(page.locator("main")).to_contain_text("The params differ first: params.n")
    expect(page.locator(".diff")).to_contain_text("output.n")


def test_a_saved_run_opens_again(shop: Running, open_page: Open, tmp_path: Path) -> None:
    shop.create("orders", "to-save", {"card": "bad", "limit": 0})
    shop.idle()
    page = open_page(f"{shop.base}/open")
    saved = page.request.get(f"{shop.instance_url('orders', 'to-save')}/export.json")
    file = tmp_path / "run.json"
    file.write_bytes(saved.body())
    page.locator("#file").set_input_files(file)
    page.get_by_role("button", name="Open").click()

    expect(page.locator("h1")).to_contain_text("to-save")
    expect(page.locator("#error")).to_contain_text("declined by the bank")
    expect(page.get_by_role("button", name="Restart")).to_have_count(0)


def test_the_clock_is_moved_to_the_next_wake(shop: Running, open_page: Open) -> None:
    shop.create("orders", "by-clock", {"sleep": "3 minutes"})
    shop.idle()
    page = open_page(shop.instance_url("orders", "by-clock"))
    page.get_by_role("button", name="Jump clock to").click()

    expect(page.locator("#now")).to_contain_text("Waiting for event")
    expect(page.locator("#clock-chip")).to_contain_text("+")


def test_every_page_has_its_json(shop: Running, open_page: Open) -> None:
    shop.create("quick", "as-json", {"n": 1})
    shop.idle()
    page = open_page(shop.base)
    for address in (
        "",
        "/workflows",
        "/clock",
        "/limits",
        "/workflows/quick",
        "/workflows/quick/instances/as-json",
        "/workflows/quick/instances/as-json/compare",
        "/workflows/quick/instances/as-json/values/output/view",
        "/workflows/quick/create",
        "/help",
        "/open",
    ):
        answer = page.request.get(f"{shop.base}{address}.json")
        assert answer.ok, address
        assert answer.headers["content-type"] == "application/json", address
        assert "View(" not in answer.text(), address
        assert json.loads(answer.body())


def test_every_page_says_what_gives_it_in_a_shell(shop: Running, open_page: Open) -> None:
    shop.create("quick", "in-a-shell", {"n": 1})
    shop.idle()
    page = open_page(f"{shop.base}?workflow=quick")
    for address, command in (
        ("?workflow=quick", "stepwell workflows instances list quick"),
        ("/workflows", "stepwell workflows list"),
        ("/workflows/quick", "stepwell workflows describe quick"),
        ("/workflows/quick/instances/in-a-shell", "stepwell workflows instances describe quick in-a-shell"),
        ("/clock", "stepwell clock show"),
        ("/limits", ""),
        ("/help", ""),
        ("/open", ""),
    ):
        page.goto(shop.base + address)
        told = page.locator("details.shells").text_content() or ""
        url, _, query = (shop.base + address).partition("?")
        assert f"{url}.json" + (f"?{query}" if query else "") in told, address
        assert command in told, address
        curl = page.locator("details.shells code").first.text_content() or ""
        assert page.request.get(shlex.split(curl)[1]).ok, address


def test_a_run_is_copied_as_a_test_and_as_markdown(shop: Running, open_page: Open) -> None:
    shop.create("quick", "as-text", {"n": 1})
    shop.idle()
    page = open_page(shop.base)
    base = shop.instance_url("quick", "as-text")

    compile(page.request.get(f"{base}/test.py").text(), "test", "exec")
    assert "| `fetch-1` |" in page.request.get(f"{base}/run.md").text()


def test_a_step_and_an_error_are_copied_as_markdown(shop: Running, open_page: Open) -> None:
    shop.create("orders", "noted", {"card": "bad", "limit": 1, "delay": 0})
    shop.idle()
    page = open_page(f"{shop.instance_url('orders', 'noted')}?step=2")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])

    page.locator("#panel").get_by_title("Copy as Markdown").click()
    expect(page.locator(".toast")).to_contain_text("Copied as Markdown")
    step = page.evaluate("navigator.clipboard.readText()")
    assert "# charge card-1" in step
    assert "2. Failed" in step
    page.locator("#error").get_by_role("link", name="Copy").click()
    expect(page.locator(".toast")).to_have_count(2)
    assert "raise CardDeclined" in page.evaluate("navigator.clipboard.readText()")


def test_a_value_is_searched_and_enter_goes_from_hit_to_hit(shop: Running, open_page: Open) -> None:
    items = [{"sku": f"item-{n}", "more": {"deep": {"deeper": f"needle {n}"}}} for n in range(20)]
    shop.create("orders", "searched", {"items": items, "sleep": 0})
    shop.idle()
    page = open_page(shop.instance_url("orders", "searched") + "?tab=data")
    box = page.locator("#value-params input[data-search-value]")
    box.fill("needle 1")

    hits = page.locator("#value-params .hits")
    expect(hits).to_have_text("1/11")
    expect(page.locator("#value-params .hit-here")).to_be_visible()
    box.press("Enter")
    expect(hits).to_have_text("2/11")
    shop.do(lambda: shop.engine.workflow("orders").send_event("searched", {"type": "other"}))
    expect(page.locator(".tabs")).to_contain_text("Events 1")
    expect(page.locator("#value-params .hit")).to_have_count(11)


def test_a_move_of_the_clock_that_waits_for_code_says_so_and_can_be_stopped(shop: Running, open_page: Open) -> None:
    shop.create("narrow", "hangs", {})
    shop.create("orders", "naps", {"sleep": "3 minutes"})
    page, another = open_page(shop.url + "/__dashboard/clock"), open_page(shop.base)
    expect(page.locator("#live")).to_contain_text("Live")
    expect(another.locator("#live")).to_contain_text("Live")
    page.get_by_role("button", name=re.compile("^1 h ")).click()
    moving = page.locator("#clock-moves")
    for one in (page, another):
        expect(one.locator("#clock-moves")).to_contain_text(re.compile(r"Moving, \d+%"))
        expect(one.locator("#clock-moves").get_by_title(re.compile(r"^Moving to .*\d:\d\d"))).to_be_visible()
    moving.get_by_role("button", name="Stop").click()

    expect(page.locator("#toasts")).to_contain_text("Clock move stopped")
    expect(moving).to_have_count(0)
    expect(another.locator("#clock-moves")).to_have_count(0)
    shop.do(lambda: shop.engine.workflow("narrow").terminate("hangs"))


def test_a_run_over_a_moved_clock_is_drawn_in_real_time_too(shop: Running, open_page: Open) -> None:
    shop.create("orders", "moved", {"sleep": "2 hours"})
    shop.idle()
    shop.do(lambda: shop.engine.advance(7_200_000))
    page = open_page(shop.instance_url("orders", "moved"))
    row = page.locator("#step-rows tr", has_text="cool down")
    expect(row.locator(".dur")).to_have_text("2 h")
    page.get_by_role("link", name="Real time").click()

    expect(row.locator(".dur")).to_contain_text(re.compile(r"^[\d.]+ (ms|s)$"))
    expect(page.locator(".head-facts")).to_contain_text("In real time")
    page.get_by_role("link", name="Emulator time").click()
    expect(row.locator(".dur")).to_have_text("2 h")


def test_an_attempt_leads_to_the_same_moment_in_the_history(shop: Running, open_page: Open) -> None:
    shop.create("orders", "moment", {"failures": 1, "delay": 0})
    shop.idle()
    page = open_page(f"{shop.instance_url('orders', 'moment')}?step=2")
    page.locator("#panel .tries a").last.click()

    expect(page.locator(".log-table")).to_be_visible()
    entry = page.locator(page.evaluate("location.hash"))
    expect(entry).to_be_in_viewport()
    expect(entry).to_contain_text("attempt_started")


def test_the_history_is_given_as_subscribe_gives_it(shop: Running, open_page: Open) -> None:
    shop.create("quick", "subscribed", {"n": 1})
    shop.idle()
    page = open_page(shop.base)
    events = page.request.get(f"{shop.instance_url('quick', 'subscribed')}/history.json").json()

    assert [event["type"] for event in events[:3]] == ["workflow_queued", "workflow_started", "workflow_running"]
    assert events[-1]["output"] == {"n": 1}


def test_v12_the_address_for_events_is_copied_as_curl(shop: Running, open_page: Open) -> None:
    """V12: the outside finds the run by the URL of its events."""
    shop.create("orders", "hooked", {"sleep": 0})
    shop.idle()
    page = open_page(shop.instance_url("orders", "hooked"))

    command = page.locator("#now [data-copy*='curl']").get_attribute("data-copy")
    assert command is not None
    assert "/workflows/orders/instances/hooked/events/approval" in command
