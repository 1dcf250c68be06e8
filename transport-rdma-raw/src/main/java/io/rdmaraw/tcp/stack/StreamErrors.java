package io.rdmaraw.tcp.stack;

import io.rdmaraw.tcp.CloseReason;
import io.rdmaraw.wire.IcmpErrorKind;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.net.SocketException;
import java.util.Locale;

/** Why connections end, in the exceptions and words that users of sockets know. */
public final class StreamErrors {
    private static final String LINK_GONE = "Network is down: the device of the connection is gone";

    private StreamErrors() {
    }

    /**
     * Returns why a connection could not be opened.
     *
     * @param softError what ICMP said last of the unanswered packets, or null
     */
    public static IOException ofConnect(CloseReason reason, IcmpErrorKind softError) {
        return switch (reason) {
            case TIMED_OUT -> softError == null ? new ConnectException("Connection timed out") : timedOut(softError);
            case UNREACHABLE -> new NoRouteToHostException("No route to host");
            case ABORTED, FINISHED -> new SocketException("Connection closed");
            case LINK_GONE -> new SocketException(LINK_GONE);
            default -> new ConnectException("Connection refused");
        };
    }

    /**
     * Returns why an open connection ended, or null when it ended in order.
     *
     * @param softError what ICMP said last of the unanswered packets, or null
     */
    public static IOException ofClose(CloseReason reason, IcmpErrorKind softError) {
        return switch (reason) {
            case RESET_BY_PEER, REFUSED -> new SocketException("Connection reset by peer");
            case TIMED_OUT -> softError == null ? new SocketException("Connection timed out") : timedOut(softError);
            case UNREACHABLE -> new NoRouteToHostException("No route to host");
            case LINK_GONE -> new SocketException(LINK_GONE);
            case FINISHED, ABORTED, DATA_AFTER_CLOSE -> null;
            case DATA_RELEASED -> new SocketException("Connection aborted: a buffer that was written to it was "
                    + "released once more before the peer had it; the channel owns what is written");
        };
    }

    /** Returns why a connection ended whose channel had left the loop that ended. */
    static IOException ofEndOfLoop() {
        return new SocketException("Software caused connection abort: the event loop that had the connection, which "
                + "its channel had left, has ended");
    }

    /** RFC 1122 section 4.2.3.9: the user learns of soft errors; as on Linux, when they turn out to have been right. */
    private static IOException timedOut(IcmpErrorKind softError) {
        return switch (softError) {
            case HOST_UNREACHABLE, PROHIBITED -> new NoRouteToHostException(
                    "No route to host: the connection timed out, and ICMP said "
                    + (softError == IcmpErrorKind.PROHIBITED ? "that a filter is in the way" : "host unreachable"));
            case PORT_UNREACHABLE, PROTOCOL_UNREACHABLE -> new ConnectException(
                    "Connection refused: the connection timed out, and ICMP said port or protocol unreachable");
            case PACKET_TOO_BIG, TIME_EXCEEDED, PARAMETER_PROBLEM -> new SocketException(
                    "Connection timed out, and ICMP said "
                    + softError.name().toLowerCase(Locale.ROOT).replace('_', ' '));
        };
    }

    /** Returns what a socket of the kernel's reports as the exception that it is, or the cause of one. */
    public static IOException of(Throwable cause) {
        return cause instanceof IOException e ? e : new IOException(cause.getMessage(), cause);
    }

    /** Returns the same exception with the peer's address in its message, as Netty's other channels do. */
    public static IOException withAddress(IOException cause, InetSocketAddress remote) {
        String message = cause.getMessage() + ": " + remote;
        IOException annotated = switch (cause) {
            case ConnectException refused -> new ConnectException(message);
            case NoRouteToHostException unreachable -> new NoRouteToHostException(message);
            default -> new SocketException(message);
        };
        annotated.initCause(cause);
        return annotated;
    }
}
