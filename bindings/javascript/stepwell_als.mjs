// Where `workerd serve` runs the code, its configuration has another module in this place, with the runtime's own class
// (emulator/worker/workerd/config.py). Elsewhere there is none: a project without Node's modules must not get one of them.
export const AsyncLocalStorage = undefined;
