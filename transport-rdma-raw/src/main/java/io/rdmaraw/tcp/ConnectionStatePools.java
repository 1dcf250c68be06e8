package io.rdmaraw.tcp;

import io.rdmaraw.tcp.send.Flight;

/** Pools of the objects that a connection needs only while it has data in flight or out of order. */
final class ConnectionStatePools {
    private static final int MAX_POOLED = 1024;

    private final Flight[] flights = new Flight[MAX_POOLED];
    private final Reassembly[] reassemblies = new Reassembly[MAX_POOLED];
    private int pooledFlights;
    private int pooledReassemblies;

    Flight acquireFlight() {
        return pooledFlights > 0 ? flights[--pooledFlights] : new Flight();
    }

    void releaseFlight(Flight f) {
        if (pooledFlights < MAX_POOLED && f.isPoolable()) {
            flights[pooledFlights++] = f;
        }
    }

    /** Releases unsent and unacknowledged data of a connection that has ended. */
    void dropFlight(TcpConnection c) {
        Flight f = c.flight;
        if (f != null) {
            if (!f.isIdle()) {
                SendTimeStatistics.end(c, f);
            }
            c.flight = null;
            f.queue.release();
            releaseFlight(f);
        }
    }

    Reassembly acquireReassembly() {
        return pooledReassemblies > 0 ? reassemblies[--pooledReassemblies] : new Reassembly();
    }

    void releaseReassembly(Reassembly r) {
        if (pooledReassemblies < MAX_POOLED && r.isPoolable()) {
            reassemblies[pooledReassemblies++] = r;
        }
    }
}
