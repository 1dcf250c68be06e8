package io.rdmaraw.testsuite.contract;

import java.util.ArrayDeque;

/**
 * Tracks the handlers and tasks that a loop's thread is in, to detect reads that are nested in another handler or task.
 */
final class Nesting {
    private static final ThreadLocal<ArrayDeque<Object>> STACK = ThreadLocal.withInitial(ArrayDeque::new);

    private Nesting() {
    }

    /** Enters a handler's event or a task, and returns the owner of the enclosing one, or null. */
    static Object enter(Object owner) {
        ArrayDeque<Object> stack = STACK.get();
        Object enclosing = stack.peek();
        stack.push(owner);
        return enclosing;
    }

    static void exit() {
        STACK.get().pop();
    }

    /** Returns whether the calling thread is in a handler or a task of a program. */
    static boolean isInside() {
        return !STACK.get().isEmpty();
    }
}
