package io.rdmaraw.tcp;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;

/**
 * The listeners and connections of an engine at one time, for monitoring. The lists are copies, but their elements are
 * the engine's own objects: create and read a dump on the engine's thread. On an engine with very many connections,
 * only some of them are examined.
 *
 * @param listeners all listeners, in no particular order
 * @param byState   number of examined connections per state; TIME-WAIT is not included
 * @param busiest   the examined connections with the most payload since they were opened, in descending order
 */
public record TcpSocketDump(List<TcpListener> listeners, Map<TcpState, Integer> byState, List<TcpConnection> busiest) {
    private static final Comparator<TcpConnection> BY_BYTES = Comparator.comparingLong(c -> c.bytesIn + c.bytesAcked);

    static TcpSocketDump of(ListenerTable listeners, ConnectionTable connections, int maxExamined, int maxReturned) {
        Map<TcpState, Integer> byState = new EnumMap<>(TcpState.class);
        PriorityQueue<TcpConnection> busiest = new PriorityQueue<>(BY_BYTES);
        connections.forEachUpTo(maxExamined, c -> {
            byState.merge(c.state, 1, Integer::sum);
            busiest.add(c);
            if (busiest.size() > maxReturned) {
                busiest.remove();
            }
        });
        List<TcpConnection> order = new ArrayList<>(busiest);
        order.sort(BY_BYTES.reversed());
        return new TcpSocketDump(listeners.all(), byState, order);
    }
}
