package io.rdmaraw.tools.top;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.openmbean.CompositeData;

/**
 * What a process had counted at one moment. Rows are as the bean has them: counts are named {@code kind:name}, the rest
 * is text.
 */
record Snapshot(long nanos, List<Row> loops, List<Row> ports, List<Row> channels,
        List<Row> sockets) {
    static final String BEAN = "io.rdmaraw:type=Transport";

    /** One loop, queue, channel, or TCP server or connection. */
    record Row(Map<String, String> names, Map<String, Long> counts) {
        String name(String key) {
            return names.getOrDefault(key, "");
        }

        long count(String key) {
            return counts.getOrDefault(key, 0L);
        }

        /** Of all counts of one kind. */
        long sum(String kind) {
            return counts.entrySet().stream().filter(e -> e.getKey().startsWith(kind + ':'))
                    .mapToLong(Map.Entry::getValue).sum();
        }

        /** The row of the same thing in another snapshot; an empty one if it was not there. */
        Row in(List<Row> rows) {
            return rows.stream().filter(row -> row.names.equals(names)).findFirst()
                    .orElse(new Row(names, Map.of()));
        }

        /** The row of another snapshot that has the same names under these keys; an empty one if there is none. */
        Row in(List<Row> rows, String... keys) {
            return rows.stream().filter(row -> Stream.of(keys).allMatch(key -> row.name(key).equals(name(key))))
                    .findFirst().orElse(new Row(names, Map.of()));
        }
    }

    static Snapshot read(MBeanServerConnection connection) throws Exception {
        ObjectName bean = new ObjectName(BEAN);
        return new Snapshot(System.nanoTime(), rows(connection, bean, "Loops"), rows(connection, bean, "Ports"),
                rows(connection, bean, "Channels"), rows(connection, bean, "Sockets"));
    }

    private static List<Row> rows(MBeanServerConnection connection, ObjectName bean, String attribute)
            throws Exception {
        List<Row> rows = new ArrayList<>();
        for (CompositeData data : (CompositeData[]) connection.getAttribute(bean, attribute)) {
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
        return rows;
    }
}
