package io.rdmaraw.tcp.stack;

import io.rdmaraw.metrics.internal.FlightRecorderEvents;
import io.rdmaraw.metrics.internal.MetricsExporters;
import io.rdmaraw.tcp.CloseReason;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.TcpConnectionInfo;

/**
 * Writes connection events to a JDK Flight Recorder recording. Load this class only if {@link MetricsExporters} reports
 * that the recorder is available.
 */
final class ConnectionRecording {
    private ConnectionRecording() {
    }

    static void ended(TcpStack stack, TcpConnection connection, CloseReason reason) {
        FlightRecorderEvents.TcpConnectionEnd event = new FlightRecorderEvents.TcpConnectionEnd();
        if (!event.shouldCommit()) {
            return;
        }
        TcpConnectionInfo info = connection.info();
        event.device = stack.deviceQueue().device().name();
        event.local = local(connection);
        event.remote = remote(connection);
        event.reason = reason.name();
        event.sentBytes = info.bytesSent();
        event.retransmittedBytes = info.retransmittedBytes();
        event.acknowledgedBytes = info.bytesAcked();
        event.receivedBytes = info.bytesReceived();
        event.smoothedRtt = info.smoothedRttNanos();
        event.minimumRtt = info.minimumRttNanos();
        event.busy = info.busyNanos();
        event.windowLimited = info.windowLimitedNanos();
        event.sendBufferLimited = info.sendBufferLimitedNanos();
        event.commit();
    }

    static void pathSuspect(TcpStack stack, TcpConnection connection) {
        FlightRecorderEvents.TcpPathSuspect event = new FlightRecorderEvents.TcpPathSuspect();
        if (!event.shouldCommit()) {
            return;
        }
        TcpConnectionInfo info = connection.info();
        event.device = stack.deviceQueue().device().name();
        event.local = local(connection);
        event.remote = remote(connection);
        event.timeouts = info.unansweredTimeouts();
        event.unacknowledgedBytes = info.unacknowledgedBytes();
        event.commit();
    }

    private static String local(TcpConnection connection) {
        return TcpSnapshots.localOf(connection, 0).toString().substring(1);
    }

    private static String remote(TcpConnection connection) {
        return TcpSnapshots.remoteOf(connection, 0).toString().substring(1);
    }
}
