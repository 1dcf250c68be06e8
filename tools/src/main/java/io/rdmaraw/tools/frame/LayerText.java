package io.rdmaraw.tools.frame;

import java.net.InetAddress;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** One layer of a template in text form: {@code name(field=value,...)}. A field is validated when it is read. */
final class LayerText {
    private final String name;
    private final Map<String, String> fields;

    private LayerText(String name, Map<String, String> fields) {
        this.name = name;
        this.fields = fields;
    }

    /** Splits a template such as {@code eth(...)/ipv4(...)/udp} into layers. */
    static List<LayerText> split(String template) {
        List<LayerText> layers = new ArrayList<>();
        for (String layer : template.strip().split("/", -1)) {
            layers.add(parse(layer.strip()));
        }
        return layers;
    }

    private static LayerText parse(String text) {
        int open = text.indexOf('(');
        if (open < 0) {
            return new LayerText(text, new LinkedHashMap<>());
        }
        if (!text.endsWith(")")) {
            throw new IllegalArgumentException("'" + text + "' lacks its closing ')'");
        }
        Map<String, String> fields = new LinkedHashMap<>();
        String inside = text.substring(open + 1, text.length() - 1).strip();
        for (String field : inside.isEmpty() ? new String[0] : inside.split(",", -1)) {
            int equals = field.indexOf('=');
            if (equals <= 0) {
                throw new IllegalArgumentException("'" + field.strip() + "' in '" + text + "' is not field=value");
            }
            if (fields.put(field.substring(0, equals).strip(), field.substring(equals + 1).strip()) != null) {
                throw new IllegalArgumentException("'" + text + "' names one field twice");
            }
        }
        return new LayerText(text.substring(0, open).strip(), fields);
    }

    String name() {
        return name;
    }

    /** Rejects fields that the layer does not have; the message lists the known ones. */
    LayerText allow(String... known) {
        for (String field : fields.keySet()) {
            if (!Set.of(known).contains(field)) {
                throw new IllegalArgumentException(
                        name + " has no field '" + field + "'; it has: " + String.join(", ", known));
            }
        }
        return this;
    }

    boolean has(String field) {
        return fields.containsKey(field);
    }

    int number(String field, int defaultValue, int min, int max) {
        return (int) number(field, (long) defaultValue, min, max);
    }

    /** Returns an unsigned number of 32 bits, or 0 if the field is missing. */
    long unsignedInt(String field) {
        return number(field, 0L, 0, 0xffff_ffffL);
    }

    private long number(String field, long defaultValue, long min, long max) {
        String value = fields.get(field);
        if (value == null) {
            return defaultValue;
        }
        long number;
        try {
            number = Long.decode(value);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(name + ' ' + field + "=" + value + " is not a number", e);
        }
        if (number < min || number > max) {
            throw new IllegalArgumentException(name + ' ' + field + "=" + value + " is not in " + min + ".." + max);
        }
        return number;
    }

    byte[] mac(String field, String defaultValue) {
        String value = fields.getOrDefault(field, defaultValue);
        String[] parts = value.split("[:-]", -1);
        byte[] mac = new byte[6];
        if (parts.length != mac.length) {
            throw new IllegalArgumentException(name + ' ' + field + "=" + value + " is not a MAC address");
        }
        for (int i = 0; i < mac.length; i++) {
            if (!parts[i].matches("[0-9a-fA-F]{1,2}")) {
                throw new IllegalArgumentException(name + ' ' + field + "=" + value + " is not a MAC address");
            }
            mac[i] = (byte) Integer.parseInt(parts[i], 16);
        }
        return mac;
    }

    /** Parses a numeric address of the given length (4 or 16). Never queries a name server. */
    byte[] ip(String field, String defaultValue, int lengthBytes) {
        String value = fields.getOrDefault(field, defaultValue);
        try {
            byte[] address = InetAddress.ofLiteral(value).getAddress();
            // InetAddress parses 1.2.3 as 1.2.0.3. In a template, this is a typing error.
            if (address.length == lengthBytes && (lengthBytes != 4 || value.split("\\.", -1).length == 4)) {
                return address;
            }
        } catch (IllegalArgumentException notAnAddress) {
            // Reported below.
        }
        throw new IllegalArgumentException(
                name + ' ' + field + "=" + value + " is not an IPv" + (lengthBytes == 4 ? 4 : 6) + " address");
    }

    byte[] hex(String field) {
        String value = fields.get(field);
        try {
            return java.util.HexFormat.of().parseHex(value);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(name + ' ' + field + "=" + value + " is not pairs of hex digits", e);
        }
    }
}
