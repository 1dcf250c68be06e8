package io.rdmaraw.tools.dump;

import io.rdmaraw.tools.command.ToolException;
import io.rdmaraw.tools.top.JavaProcess;
import java.io.IOException;
import javax.management.JMException;
import javax.management.JMRuntimeException;
import javax.management.ObjectName;
import javax.management.RuntimeErrorException;
import javax.management.RuntimeMBeanException;

/** The capture of one copy of the transport in another process. A thread renews its lease until it is closed. */
final class RemoteCapture implements AutoCloseable {
    private static final long RENEWAL_MILLIS = 1000;

    private final JavaProcess process;
    private final ObjectName bean;
    private final long id;
    private final Thread renewal;
    private int knownPoints;
    private boolean ended;

    private RemoteCapture(JavaProcess process, ObjectName bean, long id) {
        this.process = process;
        this.bean = bean;
        this.id = id;
        // The terminal or a pipe may stop the command for longer than the lease.
        renewal = Thread.ofPlatform().daemon().name("renew capture").start(this::renew);
    }

    /**
     * Starts a capture.
     *
     * @param filter program of classic BPF; empty to capture all frames
     */
    static RemoteCapture start(JavaProcess process, ObjectName bean, long[] filter, int snapBytes, int bufferBytes) {
        Object id = invoke(process, bean, "startCapture", new Object[] {filter, snapBytes, bufferBytes},
                long[].class.getName(), int.class.getName(), int.class.getName());
        return new RemoteCapture(process, bean, (long) id);
    }

    private static Object invoke(JavaProcess process, ObjectName bean, String operation, Object[] arguments,
            String... signature) {
        try {
            return process.connection().invoke(bean, operation, arguments, signature);
        } catch (JMRuntimeException e) {
            throw failure(process.pid(), e);
        } catch (JMException e) {
            throw new ToolException("process " + process.pid() + " cannot capture: it has another version of the"
                    + " transport, or its loops have ended (" + e.getMessage() + ')', e);
        } catch (IOException e) {
            throw new ToolException("process " + process.pid() + " does not answer any more: " + e.getMessage(), e);
        }
    }

    /** Returns the error for an exception that the operation has thrown in the process. */
    static ToolException failure(String pid, JMRuntimeException e) {
        Throwable cause = switch (e) {
            case RuntimeMBeanException thrown -> thrown.getTargetException();
            case RuntimeErrorException thrown -> thrown.getTargetError();
            default -> e;
        };
        return new ToolException("process " + pid + switch (cause) {
            case IllegalArgumentException refused -> ": " + refused.getMessage();
            case IllegalStateException refused -> ": " + refused.getMessage();
            case OutOfMemoryError full -> " has not enough free memory for the buffers of its queues: reduce -B, and"
                    + " -s with it";
            case null, default -> " cannot capture because of an error in it: " + cause;
        }, e);
    }

    private void renew() {
        try {
            while (true) {
                Thread.sleep(RENEWAL_MILLIS);
                invoke(process, bean, "renewCapture", new Object[] {id}, long.class.getName());
            }
        } catch (InterruptedException | ToolException e) {
            // The command has ended, or the next read reports the failure.
        }
    }

    /** Returns the frames captured since the last call. */
    CaptureReply read() {
        byte[] reply = (byte[]) invoke(process, bean, "readCapture", new Object[] {id, knownPoints},
                long.class.getName(), int.class.getName());
        CaptureReply parsed = CaptureReply.parse(reply, knownPoints);
        knownPoints += parsed.newPoints().size();
        ended = parsed.isLast();
        return parsed;
    }

    /** Stops the capture. Its frames can still be read. */
    void stop() {
        invoke(process, bean, "stopCapture", new Object[] {id}, long.class.getName());
    }

    /** Ends the capture, so that the next one need not wait for the end of its lease. */
    @Override
    public void close() {
        renewal.interrupt();
        try {
            if (!ended) {
                stop();
            }
            while (!ended) {
                read();
            }
        } catch (ToolException e) {
            // The process or its capture has ended.
        }
    }
}
