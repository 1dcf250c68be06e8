package io.rdmaraw.tools.frame;

import java.math.BigInteger;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Expands templates with ranges, such as {@code udp(src=1000..1999)} or {@code ipv4(src=10.0.0.1..10.0.0.50)}, to one
 * template for each combination of values. Numbers, IP addresses and MAC addresses can be ranges; both ends are
 * included.
 */
public final class TemplateRanges {
    /** Maximum number of templates. */
    public static final int MAX_TEMPLATES = 65_536;
    private static final Pattern RANGE = Pattern.compile("([0-9a-fA-Fx.:]*[0-9a-fA-F])\\.\\.([0-9a-fA-Fx.:]+)");

    private TemplateRanges() {
    }

    /**
     * Returns the templates described by a text. The last range varies fastest.
     *
     * @throws IllegalArgumentException if a range is invalid or there are too many combinations
     */
    public static List<String> expand(String template) {
        Matcher matcher = RANGE.matcher(template);
        if (!matcher.find()) {
            return List.of(template);
        }
        String before = template.substring(0, matcher.start());
        List<String> rests = expand(template.substring(matcher.end()));
        List<String> values = values(matcher.group(1), matcher.group(2), rests.size());
        List<String> all = new ArrayList<>(values.size() * rests.size());
        for (String value : values) {
            for (String rest : rests) {
                all.add(before + value + rest);
            }
        }
        return all;
    }

    private static List<String> values(String from, String to, int times) {
        BigInteger first = numberOf(from);
        BigInteger last = numberOf(to);
        BigInteger count = last.subtract(first).add(BigInteger.ONE);
        if (count.signum() <= 0 || formOf(from) != formOf(to)) {
            throw new IllegalArgumentException("'" + from + ".." + to + "' is not a range: it goes from a number or an"
                    + " address up to another of the same kind");
        }
        if (count.multiply(BigInteger.valueOf(times)).compareTo(BigInteger.valueOf(MAX_TEMPLATES)) > 0) {
            throw new IllegalArgumentException("the ranges have more than " + MAX_TEMPLATES + " combinations");
        }
        List<String> values = new ArrayList<>();
        for (int i = 0; i < count.intValueExact(); i++) {
            values.add(textOf(first.add(BigInteger.valueOf(i)), from));
        }
        return values;
    }

    private enum Form {
        NUMBER, IPV4, IPV6, MAC
    }

    private static Form formOf(String text) {
        if (text.matches("(0x[0-9a-fA-F]+|[0-9]+)")) {
            return Form.NUMBER;
        }
        if (text.matches("([0-9]+\\.){3}[0-9]+")) {
            return Form.IPV4;
        }
        return text.matches("([0-9a-fA-F]{1,2}:){5}[0-9a-fA-F]{1,2}") ? Form.MAC : Form.IPV6;
    }

    private static BigInteger numberOf(String text) {
        try {
            return switch (formOf(text)) {
                case NUMBER -> BigInteger.valueOf(Long.decode(text));
                case IPV4, IPV6 -> new BigInteger(1, InetAddress.ofLiteral(text).getAddress());
                case MAC -> {
                    StringBuilder digits = new StringBuilder();
                    for (String part : text.split(":")) {
                        digits.append(part.length() == 1 ? "0" : "").append(part);
                    }
                    yield new BigInteger(digits.toString(), 16);
                }
            };
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("'" + text + "' is neither a number nor an address", e);
        }
    }

    private static String textOf(BigInteger number, String like) {
        Form form = formOf(like);
        if (form == Form.NUMBER) {
            return number.toString();
        }
        int lengthBytes = form == Form.IPV4 ? 4 : form == Form.IPV6 ? 16 : 6;
        byte[] bytes = HexFormat.of().parseHex(String.format(Locale.ROOT, "%0" + 2 * lengthBytes + "x", number));
        if (form == Form.MAC) {
            return HexFormat.ofDelimiter(":").formatHex(bytes);
        }
        try {
            return InetAddress.getByAddress(bytes).getHostAddress();
        } catch (UnknownHostException e) {
            throw new IllegalStateException("an address of " + lengthBytes + " bytes", e);
        }
    }
}
