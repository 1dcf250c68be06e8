package io.rdmaraw.microbench.profile;

/**
 * One call in a stack.
 *
 * @param name    of a method with its class, or of a function
 * @param library of a function, empty where it is not known
 */
record StackFrame(String name, Origin origin, String library) {
    /** What runs a call. */
    enum Origin {
        JAVA, NATIVE, KERNEL
    }

    static StackFrame ofJava(String name) {
        return new StackFrame(name, Origin.JAVA, "");
    }

    /**
     * Parses a frame that async-profiler has written with its options {@code dot}, {@code ann} and {@code lib}: a
     * suffix marks methods and kernel functions, a prefix names the library of any other function.
     */
    static StackFrame ofAsyncProfiler(String text) {
        if (text.endsWith("]") && text.length() > 4 && text.startsWith("_[", text.length() - 4)) {
            String name = text.substring(0, text.length() - 4);
            return text.charAt(text.length() - 2) == 'k' ? new StackFrame(name, Origin.KERNEL, "") : ofJava(name);
        }
        int separator = text.indexOf('`');
        // A library whose file is deleted has no symbols left.
        return separator < 0 ? new StackFrame(text, Origin.NATIVE, text.contains(".so") ? text : "")
                : new StackFrame(text.substring(separator + 1), Origin.NATIVE, text.substring(0, separator));
    }
}
