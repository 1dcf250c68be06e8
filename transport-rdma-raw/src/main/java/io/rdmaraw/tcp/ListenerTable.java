package io.rdmaraw.tcp;

import java.util.ArrayList;
import java.util.List;

/** The listeners of an engine: by port, then by address, where an exact one goes before the wildcard. */
final class ListenerTable {
    private final List<TcpListener> listeners = new ArrayList<>();

    void add(TcpListener listener) {
        for (TcpListener other : listeners) {
            if (other.localPort == listener.localPort && other.localHigh == listener.localHigh
                    && other.localLow == listener.localLow) {
                throw new IllegalStateException("Port " + listener.localPort
                        + " has a listener on this address already; close it first or choose another port");
            }
        }
        listeners.add(listener);
    }

    void remove(TcpListener listener) {
        listeners.remove(listener);
    }

    /** Null if nobody listens there. The wildcard address is 0, 0. */
    TcpListener find(long high, long low, int port) {
        TcpListener wildcard = null;
        for (int i = 0; i < listeners.size(); i++) {
            TcpListener listener = listeners.get(i);
            if (listener.localPort != port) {
                continue;
            }
            if (listener.localHigh == high && listener.localLow == low) {
                return listener;
            }
            if (listener.localHigh == 0 && listener.localLow == 0) {
                wildcard = listener;
            }
        }
        return wildcard;
    }

    void closeAll() {
        while (!listeners.isEmpty()) {
            listeners.getLast().close();
        }
    }

    boolean isListening(int port) {
        for (int i = 0; i < listeners.size(); i++) {
            if (listeners.get(i).localPort == port) {
                return true;
            }
        }
        return false;
    }
}
