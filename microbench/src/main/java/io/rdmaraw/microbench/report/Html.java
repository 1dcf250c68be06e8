package io.rdmaraw.microbench.report;

import java.util.Locale;

/** Escapes and formats text for the page. */
final class Html {
    private Html() {
    }

    static String escape(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\"", "&quot;");
    }

    /** Formats a value with three significant digits, and with commas between thousands. */
    static String number(double value) {
        double size = Math.abs(value);
        return String.format(Locale.ROOT, size >= 100 || value == Math.rint(value) ? "%,.0f" : size >= 10 ? "%.1f"
                : size >= 0.1 || size == 0 ? "%.2f" : "%.3g", value);
    }
}
