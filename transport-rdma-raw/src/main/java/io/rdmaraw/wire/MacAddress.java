package io.rdmaraw.wire;

import java.util.Locale;
import java.util.regex.Pattern;

/** Parses and formats MAC addresses, which are stored in the low 48 bits of a long. */
public final class MacAddress {
    private static final Pattern TEXT = Pattern.compile("[0-9a-fA-F]{2}([:-][0-9a-fA-F]{2}){5}");

    private MacAddress() {
    }

    /**
     * Parses six hexadecimal octets separated by colons or hyphens.
     *
     * @throws IllegalArgumentException if the text has another format
     */
    public static long parse(String text) {
        if (!TEXT.matcher(text).matches()) {
            throw new IllegalArgumentException("\"" + text + "\" is not a MAC address such as 02:00:00:00:00:01");
        }
        return Long.parseLong(text.replace(":", "").replace("-", ""), 16);
    }

    /** Returns the six octets in hexadecimal, separated by colons. */
    public static String format(long mac) {
        return String.format(Locale.ROOT, "%012x", mac).replaceAll("(..)(?=.)", "$1:");
    }
}
