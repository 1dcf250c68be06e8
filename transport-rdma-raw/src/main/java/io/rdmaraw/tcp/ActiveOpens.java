package io.rdmaraw.tcp;

import java.util.function.IntPredicate;

/** Opens connections actively: selects the local port and reuses connections in TIME-WAIT (RFC 6191). */
final class ActiveOpens {
    private final TcpEngine engine;
    private final ListenerTable listeners;
    private final TimeWaitTable timeWait;
    private final PortSelector ports;

    ActiveOpens(TcpEngine engine, ListenerTable listeners, TimeWaitTable timeWait, PortSelector ports) {
        this.engine = engine;
        this.listeners = listeners;
        this.timeWait = timeWait;
        this.ports = ports;
    }

    TcpConnection connect(long localHigh, long localLow, int localPort, long remoteHigh, long remoteLow, int remotePort,
            IntPredicate suitable, int mtu, Object attachment) {
        int port = localPort;
        if (localPort == 0) {
            port = choosePort(localHigh, localLow, remoteHigh, remoteLow, remotePort, suitable);
        } else if (!isFree(localHigh, localLow, TcpEngine.checkPort(port), remoteHigh, remoteLow, remotePort, true)) {
            throw new IllegalStateException("Port " + port + " is in use towards port " + remotePort
                    + " of this peer; choose another or pass 0");
        }
        long nowNanos = engine.now();
        TcpConnection c = new TcpConnection(engine, localHigh, localLow, port, remoteHigh, remoteLow, remotePort);
        c.attachment(attachment);
        int isn = engine.initialSequence.isn(localHigh, localLow, port, remoteHigh, remoteLow, remotePort, nowNanos);
        Handshake.initialize(c, isn, mtu == 0 ? engine.config.mtuBytes : mtu);
        int record = timeWait.find(c.hash, localHigh, localLow, port, remoteHigh, remoteLow, remotePort);
        if (record != TimeWaitTable.NONE) {
            TimeWaitInput.reopen(c, timeWait, record);
        }
        engine.connections.add(c);
        engine.counters.activeOpens++;
        Handshake.connect(c, nowNanos);
        return c;
    }

    private int choosePort(long localHigh, long localLow, long remoteHigh, long remoteLow, int remotePort,
            IntPredicate suitable) {
        IntPredicate allowed = p -> (suitable == null || suitable.test(p)) && !listeners.isListening(p);
        int port = ports.select(localHigh, localLow, remoteHigh, remoteLow, remotePort, p -> allowed.test(p)
                && isFree(localHigh, localLow, p, remoteHigh, remoteLow, remotePort, false));
        if (port < 0 && timeWait.size() > 0) {
            port = ports.select(localHigh, localLow, remoteHigh, remoteLow, remotePort, p -> allowed.test(p)
                    && isFree(localHigh, localLow, p, remoteHigh, remoteLow, remotePort, true));
        }
        if (port < 0) {
            throw new IllegalStateException("All ports from " + engine.config.firstEphemeralPort + " to "
                    + engine.config.lastEphemeralPort + " are in use towards this peer; widen the range or close some");
        }
        return port;
    }

    /**
     * Returns whether the 4-tuple is free. A connection in TIME-WAIT blocks it unless {@code reuse} is set and
     * reuse is possible.
     */
    boolean isFree(long localHigh, long localLow, int localPort, long remoteHigh, long remoteLow,
            int remotePort, boolean reuse) {
        ConnectionTable connections = engine.connections;
        int hash = connections.hash(localHigh, localLow, localPort, remoteHigh, remoteLow, remotePort);
        if (connections.find(hash, localHigh, localLow, localPort, remoteHigh, remoteLow, remotePort) != null) {
            return false;
        }
        int record = timeWait.find(hash, localHigh, localLow, localPort, remoteHigh, remoteLow, remotePort);
        return record == TimeWaitTable.NONE
                || reuse && engine.config.timeWaitReuse && TimeWaitInput.mayReopen(timeWait, record, engine.now());
    }
}
