// Confirmation dialog. Enter confirms, Escape cancels; the focus returns to the previous element.

export function ask({ title, text, verb, input, check }) {
  const dialog = document.getElementById("ask");
  const form = document.createElement("form");
  form.method = "dialog";
  const heading = node("h2", title);
  heading.id = "ask-title";
  form.append(heading);
  if (text) form.append(node("p", text));
  if (input) form.append(labelled(input, "reason", "text"));
  if (check) form.append(labelled(check, "rollback", "checkbox"));
  const buttons = node("div", "");
  buttons.className = "acts";
  const yes = node("button", verb);
  yes.value = "yes";
  yes.className = "b danger main";
  const no = node("button", "Cancel");
  no.className = "b";
  no.value = "no";
  no.type = "button";
  no.addEventListener("click", () => dialog.close("no"));
  buttons.append(no, yes);
  form.append(buttons);
  dialog.replaceChildren(form);
  const before = document.activeElement;
  dialog.returnValue = "no";
  dialog.showModal();
  (form.querySelector("input[type='text']") || yes).focus();
  return new Promise((resolve) => {
    dialog.addEventListener("close", function closed() {
      // The close event arrives late: the next question may already be open.
      if (dialog.open && form.isConnected) return;
      dialog.removeEventListener("close", closed);
      if (!form.isConnected) { resolve(null); return; }
      before?.focus?.();
      resolve(dialog.returnValue === "yes" ? Object.fromEntries(new FormData(form)) : null);
    });
  });
}

function node(tag, text) {
  const made = document.createElement(tag);
  made.textContent = text;
  return made;
}

function labelled(text, name, type) {
  const label = document.createElement("label");
  const box = document.createElement("input");
  box.type = type;
  box.name = name;
  if (type === "checkbox") {
    box.value = "1";
    label.className = "check";
    label.append(box, text);
  } else {
    label.append(text, box);
    label.className = "field";
  }
  return label;
}
