package io.rdmaraw.tools.pktgen;

import io.rdmaraw.verbs.Softverbs;
import io.rdmaraw.verbs.SoftverbsQueueCounters;
import io.rdmaraw.verbs.VerbsContext;
import io.rdmaraw.verbs.VerbsDevices;
import java.lang.reflect.RecordComponent;
import java.util.Map;
import java.util.TreeMap;

/** What softverbs counts on a device while this is open: frames that passed, and drops and copies by reason. */
final class DeviceCounts implements AutoCloseable {
    private final VerbsContext context;
    private final Map<String, Long> before;

    DeviceCounts(String device) {
        context = VerbsDevices.open(device);
        before = all();
    }

    /** The counts that grew; empty on other providers, which keep them to themselves. */
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

    private Map<String, Long> all() {
        Map<String, Long> counts = new TreeMap<>();
        if (Softverbs.isSoftverbs(context)) {
            Softverbs device = Softverbs.of(context);
            put(counts, "sent.", device.sent());
            put(counts, "received.", device.received());
            counts.put("unquietRules", device.unquietRules());
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
