package io.rdmaraw.testsuite.contract;

import java.lang.reflect.Modifier;
import java.net.BindException;
import java.net.SocketException;

/** Maps exceptions to names that are the same in all transports. */
final class Failures {
    private Failures() {
    }

    /** Returns the nearest superclass of the exception that belongs to the JDK or to Netty's core. */
    static String name(Throwable failure) {
        if (failure == null) {
            return "none";
        }
        Class<?> type = failure.getClass();
        while (!isShared(type)) {
            type = type.getSuperclass();
        }
        // NIO throws more specific exceptions than epoll. Programs have to handle both.
        return type == SocketException.class || type == BindException.class ? "IOException" : type.getSimpleName();
    }

    private static boolean isShared(Class<?> type) {
        String home = type.getPackageName();
        return Modifier.isPublic(type.getModifiers()) && !type.getSimpleName().startsWith("Stackless")
                && (home.startsWith("java.") || home.equals("io.netty.channel")
                || home.equals("io.netty.util") || home.equals("io.netty.util.concurrent"))
                || home.equals(Failures.class.getPackageName());
    }
}
