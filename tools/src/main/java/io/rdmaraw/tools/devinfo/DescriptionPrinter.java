package io.rdmaraw.tools.devinfo;

import java.io.PrintWriter;
import java.util.List;
import java.util.Map;

/** Prints a description as indented text, with the values in one column and with lists and masks below their name. */
final class DescriptionPrinter {
    private static final int VALUE_COLUMN = 40;
    private static final String STEP = "    ";

    private DescriptionPrinter() {
    }

    static void print(PrintWriter out, Map<String, Object> description) {
        out.println("hca_id: " + description.get("hca_id"));
        description.forEach((name, value) -> {
            if (!name.equals("hca_id")) {
                print(out, STEP, name, value);
            }
        });
        out.println();
        out.flush();
    }

    private static void print(PrintWriter out, String indent, String name, Object value) {
        switch (value) {
            case Map<?, ?> mask when mask.containsKey("mask") -> {
                line(out, indent, name, mask.get("mask"));
                ((List<?>) mask.get("names")).forEach(bit -> line(out, indent, "", bit));
            }
            case Map<?, ?> group -> {
                out.println(indent + name + ':');
                group.forEach((key, inner) -> print(out, indent + STEP, key.toString(), inner));
            }
            case List<?> list -> list.forEach(element -> {
                if (element instanceof Map<?, ?> port) {
                    out.println();
                    port.forEach((key, inner) -> print(out, indent + STEP, key.toString(), inner));
                } else {
                    out.println(indent + element);
                }
            });
            default -> line(out, indent, name, value);
        }
    }

    private static void line(PrintWriter out, String indent, String name, Object value) {
        String label = indent + (name.isEmpty() ? "" : name + ':');
        out.println(label + " ".repeat(Math.max(1, VALUE_COLUMN - label.length())) + value);
    }
}
