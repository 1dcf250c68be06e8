package io.rdmaraw.testsuite.hostmodel;

import java.util.Map;

/** Maps the errors of both hosts to common names: the name of the errno, if the message contains its text. */
final class Errors {
    private static final Map<String, String> ERRNO_BY_TEXT = Map.ofEntries(
            Map.entry("Network is unreachable", "ENETUNREACH"), Map.entry("No route to host", "EHOSTUNREACH"),
            Map.entry("Host is unreachable", "EHOSTUNREACH"), Map.entry("Invalid argument", "EINVAL"),
            Map.entry("Permission denied", "EACCES"), Map.entry("Operation not permitted", "EPERM"),
            Map.entry("annot assign requested address", "EADDRNOTAVAIL"), Map.entry("onnection refused",
                    "ECONNREFUSED"), Map.entry("Network is down", "ENETDOWN"), Map.entry("essage too long", "EMSGSIZE"),
            Map.entry("Connection reset", "ECONNREFUSED"), Map.entry("Address family", "EAFNOSUPPORT"),
            Map.entry("Protocol error", "EPROTO"));

    private Errors() {
    }

    /** Returns the errno of an error. If it is unknown, returns the class and the message. */
    static String describe(Throwable cause) {
        Throwable error = cause;
        while (error.getClass().getName().startsWith("io.netty.channel.AbstractChannel$Annotated")) {
            error = error.getCause();
        }
        String message = String.valueOf(error.getMessage());
        String errno = ERRNO_BY_TEXT.entrySet().stream().filter(entry -> message.contains(entry.getKey()))
                .map(Map.Entry::getValue).sorted().findFirst().orElse(null);
        return errno != null ? errno : error.getClass().getSimpleName() + " \"" + message + '"';
    }
}
