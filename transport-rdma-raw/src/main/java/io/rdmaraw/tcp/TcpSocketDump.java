package io.rdmaraw.tcp;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;

/**
 * The listeners and connections of an engine, for monitoring. Taken on the engine's thread.
 *
 * @param listeners in no order
 * @param byState   how many of the connections looked at are in a state; TIME-WAIT is not among them
 * @param busiest   those with the most payload since they began, the busiest first
 */
public record TcpSocketDump(List<TcpListener> listeners, Map<TcpState, Integer> byState, List<TcpConnection> busiest) {
    private static final Comparator<TcpConnection> BY_BYTES = Comparator.comparingLong(c -> c.bytesIn + c.bytesAcked);

    static TcpSocketDump of(ListenerTable listeners, ConnectionTable connections, int lookedAt, int most) {
        Map<TcpState, Integer> byState = new EnumMap<>(TcpState.class);
        PriorityQueue<TcpConnection> busiest = new PriorityQueue<>(BY_BYTES);
        connections.first(lookedAt, c -> {
            byState.merge(c.state, 1, Integer::sum);
            busiest.add(c);
            if (busiest.size() > most) {
                busiest.remove();
            }
        });
        List<TcpConnection> order = new ArrayList<>(busiest);
        order.sort(BY_BYTES.reversed());
        return new TcpSocketDump(listeners.all(), byState, order);
    }
}
