package io.rdmaraw.microbench.profile;

/**
 * One call in a stack.
 *
 * @param name    class and name of a method, or name of a function
 * @param library library of a function, or empty if it is unknown
 */
record StackFrame(String name, Origin origin, String library) {
    /** The kind of code that a call executes. */
    enum Origin {
        JAVA, NATIVE, KERNEL
    }

    static StackFrame ofJava(String name) {
        return new StackFrame(name, Origin.JAVA, "");
    }

    /**
     * Parses a frame of async-profiler with its options {@code dot}, {@code ann} and {@code lib}. Methods and kernel
     * functions have a suffix. Other functions have the name of their library as a prefix.
     */
    static StackFrame ofAsyncProfiler(String text) {
        if (text.endsWith("]") && text.length() > 4 && text.startsWith("_[", text.length() - 4)) {
            String name = text.substring(0, text.length() - 4);
            return text.charAt(text.length() - 2) == 'k' ? new StackFrame(name, Origin.KERNEL, "") : ofJava(name);
        }
        int separator = text.indexOf('`');
        // If the file of a library was deleted, async-profiler prints the library without a function, as it finds no
        // symbols.
        return separator < 0 ? new StackFrame(text, Origin.NATIVE, text.contains(".so") ? text : "")
                : new StackFrame(text.substring(separator + 1), Origin.NATIVE, text.substring(0, separator));
    }
}
