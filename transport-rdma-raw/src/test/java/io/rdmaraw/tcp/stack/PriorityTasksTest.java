package io.rdmaraw.tcp.stack;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

class PriorityTasksTest {
    private final PriorityTasks tasks = new PriorityTasks();
    private final List<String> done = new ArrayList<>();

    private void add(String name) {
        tasks.add(() -> done.add(name));
    }

    @Test
    void tasksRunOnceAndInOrder() {
        add("first");
        add("second");
        tasks.run();
        tasks.run();
        add("third");
        tasks.run();
        assertEquals(List.of("first", "second", "third"), done);
    }

    /** If a task fails, the loop must still process its frame and the remaining tasks. */
    @Test
    void failedTaskDoesNotAffectOthers() {
        add("before");
        tasks.add(() -> {
            throw new IllegalStateException("planted");
        });
        add("behind");
        tasks.run();
        assertEquals(List.of("before", "behind"), done);
    }

    @Test
    void addedTasksRunToo() {
        tasks.add(() -> {
            add("added");
            tasks.run();
            done.add("adding");
        });
        tasks.run();
        assertEquals(List.of("added", "adding"), done);
    }
}
