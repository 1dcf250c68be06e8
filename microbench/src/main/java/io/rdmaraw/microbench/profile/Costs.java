package io.rdmaraw.microbench.profile;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmaraw.tools.output.Json;
import io.rdmaraw.tools.output.TextTable;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * The time of the event loops by layer and by method. The time of the JDK and of libc is attributed to the calling
 * method or function. The result therefore does not depend on inlining.
 */
final class Costs {
    private static final double PERCENT = 100;
    private static final int METHODS = 12;

    /** @param percent share of all samples of the loops */
    record Cost(Layer layer, String name, double percent) {
    }

    private final Samples samples;
    private final Map<Layer, Long> byLayer = new EnumMap<>(Layer.class);
    private final Map<StackFrame, Long> byMethod = new HashMap<>();

    Costs(Samples samples) {
        this.samples = samples;
        for (Samples.Stack stack : samples.stacks()) {
            StackFrame spender = spender(stack.frames());
            Layer layer = Layer.of(spender);
            byLayer.merge(layer == null ? Layer.JVM : layer, stack.count(), Long::sum);
            byMethod.merge(spender, stack.count(), Long::sum);
        }
    }

    /**
     * Returns the call to which a sample is attributed: the innermost one that belongs to a layer. If no call belongs
     * to a layer, this is the innermost call.
     */
    private static StackFrame spender(List<StackFrame> frames) {
        for (int i = frames.size() - 1; i >= 0; i--) {
            if (Layer.of(frames.get(i)) != null) {
                return frames.get(i);
            }
        }
        return frames.getLast();
    }

    /** Returns the costs of the layers in descending order. */
    List<Cost> layers() {
        List<Cost> costs = new ArrayList<>();
        byLayer.forEach((layer, count) -> costs.add(new Cost(layer, layer.toString(), percent(count))));
        return dearestFirst(costs);
    }

    /** Returns the costs of the most expensive methods and functions in descending order. */
    List<Cost> methods() {
        List<Cost> costs = new ArrayList<>();
        byMethod.forEach((frame, count) -> {
            Layer layer = Layer.of(frame);
            costs.add(new Cost(layer == null ? Layer.JVM : layer, frame.name(), percent(count)));
        });
        List<Cost> sorted = dearestFirst(costs);
        return sorted.subList(0, Math.min(METHODS, sorted.size()));
    }

    private double percent(long count) {
        return PERCENT * count / samples.count();
    }

    private static List<Cost> dearestFirst(List<Cost> costs) {
        costs.sort((a, b) -> Double.compare(b.percent(), a.percent()));
        return costs;
    }

    ObjectNode toJson() {
        ObjectNode json = Json.object().put("source", samples.source()).put("samples", samples.count());
        for (Cost cost : layers()) {
            json.withArray("layers").addObject().put("layer", cost.name()).put("percent",
                    Json.rounded(cost.percent()));
        }
        for (Cost cost : methods()) {
            json.withArray("methods").addObject().put("method", cost.name()).put("layer", cost.layer().toString())
                    .put("percent", Json.rounded(cost.percent()));
        }
        return json;
    }

    void print(PrintWriter out) {
        out.println(String.format(Locale.ROOT, "%,d samples of event loops, by %s", samples.count(),
                samples.source()));
        out.println();
        TextTable layers = new TextTable("layer", "%");
        layers().forEach(cost -> layers.row(cost.name(), text(cost)));
        layers.print(out);
        out.println();
        TextTable methods = new TextTable("by itself, with what the JDK and libc do for it", "layer", "%");
        methods().forEach(cost -> methods.row(cost.name(), cost.layer().toString(), text(cost)));
        methods.print(out);
    }

    private static String text(Cost cost) {
        return String.format(Locale.ROOT, "%.1f", cost.percent());
    }
}
