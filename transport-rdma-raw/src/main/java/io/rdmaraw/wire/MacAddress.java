package io.rdmaraw.wire;

import java.util.Locale;
import java.util.regex.Pattern;

/** MAC addresses in the low 48 bits of a long, and as text. */
public final class MacAddress {
    private static final Pattern TEXT = Pattern.compile("[0-9a-fA-F]{2}([:-][0-9a-fA-F]{2}){5}");

    private MacAddress() {
    }

    /**
     * Returns the address that a text of six octets in hexadecimal with colons or hyphens means.
     *
     * @throws IllegalArgumentException when the text is something else
     */
    public static long parse(String text) {
        if (!TEXT.matcher(text).matches()) {
            throw new IllegalArgumentException("\"" + text + "\" is not a MAC address such as 02:00:00:00:00:01");
        }
        return Long.parseLong(text.replace(":", "").replace("-", ""), 16);
    }

    /** Returns the octets with colons between them. */
    public static String format(long mac) {
        return String.format(Locale.ROOT, "%012x", mac).replaceAll("(..)(?=.)", "$1:");
    }
}
