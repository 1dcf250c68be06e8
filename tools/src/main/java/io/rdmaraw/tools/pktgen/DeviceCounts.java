package io.rdmaraw.tools.pktgen;

import io.rdmaraw.verbs.VerbsContext;
import io.rdmaraw.verbs.VerbsDevices;
import io.rdmaraw.verbs.softverbs.Softverbs;
import io.rdmaraw.verbs.softverbs.SoftverbsQueueCounters;
import java.lang.reflect.RecordComponent;
import java.util.Map;
import java.util.TreeMap;

/** Counts of softverbs on a device while this is open: frames, and drops and copies by reason. */
final class DeviceCounts implements AutoCloseable {
    private final VerbsContext context;
    private final Map<String, Long> before;

    DeviceCounts(String device) {
        context = VerbsDevices.open(device);
        before = all();
    }

    /** Returns the counts that have changed; empty with other providers, which do not publish counts. */
    Map<String, Long> grown() {
        Map<String, Long> grown = new TreeMap<>();
        all().forEach((name, count) -> {
            long more = count - before.get(name);
            if (more != 0) {
                grown.put(name, more);
            }
        });
        return grown;
    }

    /** Returns the frames sent since the start that no rule of a receiver matched. */
    long unmatched() {
        return grown().getOrDefault("sent.noMatch", 0L);
    }

    private Map<String, Long> all() {
        Map<String, Long> counts = new TreeMap<>();
        if (Softverbs.isSoftverbs(context)) {
            Softverbs device = Softverbs.of(context);
            put(counts, "sent.", device.sent());
            put(counts, "received.", device.received());
            counts.put("kernelVisibleRules", Softverbs.countersOf(context).kernelVisibleRules());
        }
        return counts;
    }

    private static void put(Map<String, Long> counts, String prefix, SoftverbsQueueCounters values) {
        try {
            for (RecordComponent component : SoftverbsQueueCounters.class.getRecordComponents()) {
                counts.put(prefix + component.getName(), (Long) component.getAccessor().invoke(values));
            }
        } catch (ReflectiveOperationException e) {
            throw new AssertionError("the accessors of a public record", e);
        }
    }

    @Override
    public void close() {
        context.close();
    }
}
