package io.rdmaraw.testsuite.contract;

import io.rdmaraw.testsuite.contract.Step.Numbered;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * A small Netty program: settings and steps. Channels are numbered: 2n is client n, 2n+1 is the channel that the server
 * accepted for it.
 */
record Program(long seed, Map<Choice, Integer> choices, List<Numbered> steps) {
    /** The channel number of the server. */
    static final int SERVER = -1;
    /** The channel number of datagram channel 0. Datagram channel 1 has the next number. */
    static final int DATAGRAM = 100;

    int get(Choice choice) {
        return choices.getOrDefault(choice, 0);
    }

    boolean is(Choice choice) {
        return get(choice) != 0;
    }

    int connections() {
        return 1 + get(Choice.MORE_CONNECTIONS);
    }

    Program withSteps(List<Numbered> others) {
        return new Program(seed, choices, others);
    }

    Program without(Choice choice) {
        Map<Choice, Integer> fewer = new EnumMap<>(choices);
        fewer.remove(choice);
        return new Program(seed, fewer, steps);
    }

    /** Returns the steps of a type at any depth. */
    List<Step> find(Class<? extends Step> type) {
        List<Step> found = new ArrayList<>();
        collect(steps, type, found);
        return found;
    }

    /** Returns the step with a number, or null. */
    Step step(int id) {
        return step(steps, id);
    }

    private static Step step(List<Numbered> steps, int id) {
        for (Numbered each : steps) {
            Step found = each.id() == id ? each.step() : step(each.step().inner(), id);
            if (found != null) {
                return found;
            }
        }
        return null;
    }

    boolean has(Class<? extends Step> type) {
        return !find(type).isEmpty();
    }

    private static void collect(List<Numbered> steps, Class<? extends Step> type, List<Step> found) {
        for (Numbered each : steps) {
            if (type.isInstance(each.step())) {
                found.add(each.step());
            }
            collect(each.step().inner(), type, found);
        }
    }

    static String name(int end) {
        if (end == SERVER) {
            return "server";
        }
        return end >= DATAGRAM ? "datagrams" + (end - DATAGRAM) : (end % 2 == 0 ? "client" : "accepted") + end / 2;
    }

    /** Returns the program as Java-like source. */
    String source() {
        StringBuilder text = new StringBuilder("// seed ").append(seed).append('\n');
        choices.forEach((choice, value) -> text.append("set(").append(choice).append(", ").append(value)
                .append(");\n"));
        append(text, steps, "");
        return text.toString();
    }

    private static void append(StringBuilder text, List<Numbered> steps, String indent) {
        for (Numbered each : steps) {
            List<Numbered> inner = each.step().inner();
            text.append(indent).append(each.step().source(each.id())).append(inner.isEmpty() ? ";\n" : " {\n");
            if (!inner.isEmpty()) {
                append(text, inner, indent + "    ");
                text.append(indent).append("});\n");
            }
        }
    }
}
