package io.rdmaraw.tcp;

import io.rdmaraw.tcp.send.SendState;

/** Pools of the objects that a connection needs only while it has data in flight or out of order. */
final class ConnectionStatePools {
    private static final int MAX_POOLED = 1024;

    private final SendState[] sendStates = new SendState[MAX_POOLED];
    private final Reassembly[] reassemblies = new Reassembly[MAX_POOLED];
    private int pooledSendStates;
    private int pooledReassemblies;

    SendState acquireSendState() {
        return pooledSendStates > 0 ? sendStates[--pooledSendStates] : new SendState();
    }

    void releaseSendState(SendState f) {
        if (pooledSendStates < MAX_POOLED && f.isPoolable()) {
            sendStates[pooledSendStates++] = f;
        }
    }

    /** Releases unsent and unacknowledged data of a connection that has ended. */
    void dropFlight(TcpConnection c) {
        SendState f = c.sendState;
        if (f != null) {
            if (!f.isIdle()) {
                SendTimeStatistics.end(c, f);
            }
            c.sendState = null;
            f.queue.release();
            releaseSendState(f);
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
