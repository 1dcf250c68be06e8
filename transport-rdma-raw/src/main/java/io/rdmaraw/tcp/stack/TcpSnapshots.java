package io.rdmaraw.tcp.stack;

import io.rdmaraw.metrics.RdmaRawTcpInfo;
import io.rdmaraw.metrics.RdmaRawTcpSockets;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.TcpConnectionInfo;
import io.rdmaraw.tcp.TcpListener;
import io.rdmaraw.tcp.TcpSocketDump;

import java.net.InetSocketAddress;
import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;

/** Copies the state of the engine's connections to the public records. Used on the stack's loop only. */
public final class TcpSnapshots {
    private TcpSnapshots() {
    }

    static InetSocketAddress localOf(TcpConnection c, int scopeId) {
        return new InetSocketAddress(new IpAddress(c.localHigh(), c.localLow()).toInetAddress(scopeId), c.localPort());
    }

    static InetSocketAddress remoteOf(TcpConnection c, int scopeId) {
        IpAddress remote = new IpAddress(c.remoteHigh(), c.remoteLow());
        return new InetSocketAddress(remote.toInetAddress(scopeId), c.remotePort());
    }

    /** Returns the state of a connection. */
    public static RdmaRawTcpInfo info(TcpConnectionInfo info) {
        return new RdmaRawTcpInfo(info.state().name(), info.congestionControl(), info.recovering(),
                info.smoothedRttNanos(), info.minimumRttNanos(), info.retransmissionTimeoutNanos(),
                info.congestionWindowBytes(), info.sendWindowBytes(), info.receiveWindowBytes(), info.segmentBytes(),
                info.pathMtuBytes(), info.unacknowledgedBytes(), info.unsentBytes(), info.bytesAcked(),
                info.bytesReceived(), info.segmentsIn(), info.segmentsOut(), info.retransmittedSegments(),
                info.timer(), info.timerNanos(), info.timestamps(), info.sack(), info.ecn(),
                info.sendWindowShift(), info.receiveWindowShift(),
                info.rttVariationNanos(), info.receiveRttNanos(), info.backoff(), info.unansweredTimeouts(),
                info.slowStartThresholdBytes(), info.peerSegmentBytes(), info.receiveBufferBytes(),
                info.inFlightBytes(), info.lostBytes(), info.sackedBytes(), info.unreadBytes(),
                info.outOfOrderBytes(), info.sinceLastSentNanos(), info.sinceLastReceivedNanos(), info.bytesSent(),
                info.retransmittedBytes(), info.deliveredBytes(), info.deliveredMarkedBytes(),
                info.duplicatesReported(), info.reorderings(), info.busyNanos(), info.windowLimitedNanos(),
                info.sendBufferLimitedNanos(), info.receivedDscp(), info.pacingRate(), info.deliveryRate(),
                info.applicationLimited());
    }

    /** Returns the servers and connections of a stack. */
    static RdmaRawTcpSockets sockets(TcpSocketDump dump) {
        Map<String, Integer> byState = new TreeMap<>();
        dump.byState().forEach((state, count) -> byState.put(state.name(), count));
        return new RdmaRawTcpSockets(dump.listeners().stream().map(TcpSnapshots::of).toList(),
                Collections.unmodifiableMap(byState), dump.busiest().stream().map(TcpSnapshots::of).toList());
    }

    private static RdmaRawTcpSockets.Listener of(TcpListener listener) {
        IpAddress address = new IpAddress(listener.localHigh(), listener.localLow());
        return new RdmaRawTcpSockets.Listener(address.isAny() ? new InetSocketAddress(listener.localPort())
                : new InetSocketAddress(address.toInetAddress(), listener.localPort()), listener.halfOpenCount(),
                listener.backlog());
    }

    private static RdmaRawTcpSockets.Connection of(TcpConnection c) {
        return new RdmaRawTcpSockets.Connection(localOf(c, 0), remoteOf(c, 0),
                info(c.info()));
    }
}
