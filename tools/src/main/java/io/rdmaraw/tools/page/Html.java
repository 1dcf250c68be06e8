package io.rdmaraw.tools.page;

import java.util.Locale;

/** Text for a page. */
final class Html {
    private Html() {
    }

    static String escape(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\"", "&quot;");
    }

    /** Three significant digits, thousands with commas. */
    static String number(double value) {
        double size = Math.abs(value);
        return String.format(Locale.ROOT, size >= 100 || value == Math.rint(value) ? "%,.0f" : size >= 10 ? "%.1f"
                : size >= 0.1 || size == 0 ? "%.2f" : "%.3g", value);
    }
}
