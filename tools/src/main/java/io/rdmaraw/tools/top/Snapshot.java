package io.rdmaraw.tools.top;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.openmbean.CompositeData;

/**
 * The counters of a process at one moment. Rows correspond to those of the MBean: counters are named {@code kind:name},
 * all other attributes are text.
 */
record Snapshot(long nanos, List<Row> loops, List<Row> queues, List<Row> devices, List<Row> channels,
        List<Row> sockets) {
    /** A copy of the transport in another class loader of the process has a further key. */
    private static final String BEANS = "io.rdmaraw:type=Transport,*";

    /** One loop, queue, device, channel, TCP server or TCP connection. */
    record Row(Map<String, String> names, Map<String, Long> counts) {
        String name(String key) {
            return names.getOrDefault(key, "");
        }

        long count(String key) {
            return counts.getOrDefault(key, 0L);
        }

        /** Returns the sum of all counters of one kind. */
        long sum(String kind) {
            return counts.entrySet().stream().filter(e -> e.getKey().startsWith(kind + ':'))
                    .mapToLong(Map.Entry::getValue).sum();
        }

        /** Returns the row with the same names in another snapshot, or an empty row. */
        Row in(List<Row> rows) {
            return rows.stream().filter(row -> row.names.equals(names)).findFirst()
                    .orElse(new Row(names, Map.of()));
        }

        /** Returns the row with the same values of these keys in another snapshot, or an empty row. */
        Row in(List<Row> rows, String... keys) {
            return rows.stream().filter(row -> Stream.of(keys).allMatch(key -> row.name(key).equals(name(key))))
                    .findFirst().orElse(new Row(names, Map.of()));
        }
    }

    /** Returns the names of the MBeans: one for each copy of the transport. */
    static Set<ObjectName> beans(MBeanServerConnection connection) throws Exception {
        return connection.queryNames(new ObjectName(BEANS), null);
    }

    /** Returns the rows of all copies of the transport. */
    static Snapshot read(MBeanServerConnection connection) throws Exception {
        Set<ObjectName> beans = beans(connection);
        return new Snapshot(System.nanoTime(), rows(connection, beans, "Loops"), rows(connection, beans, "Queues"),
                rows(connection, beans, "Devices"), rows(connection, beans, "Channels"),
                rows(connection, beans, "Sockets"));
    }

    private static List<Row> rows(MBeanServerConnection connection, Set<ObjectName> beans, String attribute)
            throws Exception {
        List<Row> rows = new ArrayList<>();
        for (ObjectName bean : beans) {
            addRows((CompositeData[]) connection.getAttribute(bean, attribute), rows);
        }
        return rows;
    }

    private static void addRows(CompositeData[] added, List<Row> rows) {
        for (CompositeData data : added) {
            Map<String, String> names = new TreeMap<>();
            Map<String, Long> counts = new TreeMap<>();
            for (String key : data.getCompositeType().keySet()) {
                if (data.get(key) instanceof Long count) {
                    counts.put(key, count);
                } else {
                    names.put(key, String.valueOf(data.get(key)));
                }
            }
            rows.add(new Row(names, counts));
        }
    }
}
