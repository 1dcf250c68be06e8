package io.rdmaraw.tcp.stack;

import java.util.ArrayList;
import java.util.List;

/** Tasks that wait until a stack handles no connection any more. Any thread. */
final class Afterwards {
    private final List<Runnable> waiting = new ArrayList<>(0);
    private boolean begun;

    /** Runs a task now if it has begun, else by {@link #begin()}. */
    void add(Runnable task) {
        synchronized (waiting) {
            if (!begun) {
                waiting.add(task);
                return;
            }
        }
        task.run();
    }

    /** A task is not to run any more; nothing happens if it has. */
    void remove(Runnable task) {
        synchronized (waiting) {
            waiting.remove(task);
        }
    }

    void begin() {
        List<Runnable> tasks;
        synchronized (waiting) {
            begun = true;
            tasks = List.copyOf(waiting);
            waiting.clear();
        }
        tasks.forEach(Runnable::run);
    }
}
