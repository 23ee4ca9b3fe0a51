// The entry: pages work without it; this makes them live and quick.
import { startActions } from "./actions.js";
import { startChoosing } from "./choose.js";
import { startCompletion } from "./complete.js";
import { startCopying } from "./copy.js";
import { startForms } from "./forms.js";
import { startKeys } from "./keys.js";
import { startLive } from "./live.js";
import { startPalette } from "./palette.js";
import { startThemes } from "./theme.js";
import { startTicking } from "./tick.js";
import { startValues } from "./values.js";
import { startViews } from "./views.js";
import { startZoom } from "./zoom.js";

document.documentElement.classList.add("scripted");
startTicking();
startThemes();
startActions();
startCopying();
startChoosing();
startCompletion();
startPalette();
startForms();
startKeys();
startValues();
startViews();
startZoom();
startLive();
