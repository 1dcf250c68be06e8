// SPDX-License-Identifier: Apache-2.0

import io.rdmaraw.tcp.CloseReason;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.TcpListener;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** A socket of a script. Options that are set before there is a connection wait in {@link #options}. */
final class ScriptSocket {
    final int domain;
    final List<Consumer<TcpConnection>> options = new ArrayList<>();
    final ArrayDeque<ScriptSocket> pending = new ArrayDeque<>();
    long localHigh;
    long localLow;
    int localPort;
    boolean blocking = true;
    boolean connecting;
    boolean connected;
    boolean fastOpenConnect;
    boolean fastOpenPending;
    boolean peerFinished;
    boolean outputShut;
    boolean inputShut;
    boolean resetOnClose;
    int sendBufferBytes = 4 << 20;
    int receiveBufferBytes;
    int maxSegment;
    int notSentLowWater;
    int fastOpenBacklog;
    int unread;
    int error;
    long remoteHigh;
    long remoteLow;
    int remotePort;
    TcpListener listener;
    TcpConnection connection;
    CloseReason closed;

    ScriptSocket(int domain) {
        this.domain = domain;
    }

    void set(Consumer<TcpConnection> option) {
        options.add(option);
        if (connection != null && closed == null) {
            option.accept(connection);
        }
    }

    void attach(TcpConnection to) {
        connection = to;
        to.attachment(this);
        options.forEach(option -> option.accept(to));
    }

    int sendRoom() {
        if (connection == null) {
            return 0;
        }
        int room = sendBufferBytes - connection.queuedBytes();
        return notSentLowWater == 0 ? room : Math.min(room, notSentLowWater - connection.unsentBytes());
    }
}
