package io.rdmaraw.microbench.manual;

/** Builds a text in the macros of man(7). */
final class Roff {
    private final StringBuilder text = new StringBuilder();

    /** Adds the title macro, which must come first. */
    Roff title(String page, String version) {
        return macro("TH", page.toUpperCase(java.util.Locale.ROOT), "1", "", version, "netty-transport-rdma-raw");
    }

    Roff section(String title) {
        return macro("SH", title);
    }

    private Roff macro(String name, String... arguments) {
        text.append('.').append(name);
        for (String argument : arguments) {
            text.append(" \"").append(escaped(argument)).append('"');
        }
        text.append('\n');
        return this;
    }

    /** Adds a line of text, which man(1) wraps. */
    Roff line(String words) {
        // At the start of a line, a full stop or an apostrophe would begin a macro.
        text.append(words.matches("(?s)[.'].*") ? "\\&" : "").append(escaped(words)).append('\n');
        return this;
    }

    /** Adds a line without escaping it. */
    Roff raw(String line) {
        text.append(line).append('\n');
        return this;
    }

    static String escaped(String words) {
        return words.replace("\\", "\\e").replace("-", "\\-").replace("\"", "\\(dq");
    }

    @Override
    public String toString() {
        return text.toString();
    }
}
