package io.rdmaraw.tools.top;

import com.sun.tools.attach.AttachNotSupportedException;
import com.sun.tools.attach.VirtualMachine;
import com.sun.tools.attach.VirtualMachineDescriptor;
import io.rdmaraw.tools.command.ToolException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;

/** Another JVM on this host that uses the transport, accessed with the attach API. Opens no port to the network. */
public final class JavaProcess implements AutoCloseable {
    /** The system property that the transport sets when it registers its MBean. */
    private static final String MARK = "io.rdmaraw.jmx.registered";

    private final String pid;
    private final String title;
    private final JMXConnector connector;

    private JavaProcess(String pid, String title, JMXConnector connector) {
        this.pid = pid;
        this.title = title;
        this.connector = connector;
    }

    /**
     * Attaches to a process.
     *
     * @param command name of the command of this process, for an error message
     */
    static JavaProcess attach(String command, String pid) {
        NetworkNamespaces namespaces = new NetworkNamespaces(Path.of("/proc"));
        ManagementReplies.restrict();
        try {
            VirtualMachine machine = VirtualMachine.attach(pid);
            try {
                // The management agent listens on the loopback address of the process's own network namespace.
                NamespaceSockets.enter(namespaces.isElsewhere(pid) ? pid : null);
                JMXServiceURL url = ManagementReplies.localAgent(machine.startLocalManagementAgent());
                String title = machine.getSystemProperties().getProperty("sun.java.command", "");
                return new JavaProcess(pid, title, JMXConnectorFactory.connect(url));
            } finally {
                machine.detach();
            }
        } catch (AttachNotSupportedException | IOException e) {
            throw new ToolException(attachFailure(command, pid, e, namespaces), e);
        }
    }

    /**
     * Returns the message for a failure. Entering a network namespace requires CAP_SYS_ADMIN. The message suggests
     * nsenter, because the user may hold this capability although this process does not.
     */
    static String attachFailure(String command, String pid, Exception e, NetworkNamespaces namespaces) {
        if (!namespaces.hasProcess(pid)) {
            return "no such process: " + pid;
        }
        if (namespaces.isElsewhere(pid)) {
            return "cannot attach to process " + pid + ", which is in another network namespace: nsenter -t " + pid
                    + " -n ./rdma-raw " + command + " --pid " + pid;
        }
        return "cannot attach to process " + pid + ": " + e.getMessage() + " (it must be a JVM of the same user on this"
                + " host, and not run with -XX:+DisableAttachMechanism)";
    }

    /** Finds the only process that uses the transport. For other processes, only the system properties are read. */
    static JavaProcess find(String command) {
        List<String> found = new ArrayList<>();
        String pid = null;
        for (VirtualMachineDescriptor descriptor : VirtualMachine.list()) {
            if (hasTransport(descriptor)) {
                pid = descriptor.id();
                found.add(pid + "  " + descriptor.displayName());
            }
        }
        if (found.size() == 1) {
            return attach(command, pid);
        }
        throw new ToolException(found.isEmpty() ? "no JVM of this user on this host has loops of the transport"
                : "several processes have loops of the transport, name one of them:\n  " + String.join("\n  ", found));
    }

    private static boolean hasTransport(VirtualMachineDescriptor descriptor) {
        if (descriptor.id().equals(Long.toString(ProcessHandle.current().pid()))) {
            return false;
        }
        try {
            VirtualMachine machine = VirtualMachine.attach(descriptor);
            try {
                return machine.getSystemProperties().containsKey(MARK);
            } finally {
                machine.detach();
            }
        } catch (AttachNotSupportedException | IOException e) {
            // The process has ended or cannot be attached to, so it cannot be shown.
            return false;
        }
    }

    /**
     * Returns the names of the transport's MBeans: one for each copy of the transport.
     *
     * @throws ToolException if the process has none
     */
    public Set<ObjectName> transports() {
        try {
            Set<ObjectName> beans = Snapshot.beans(connection());
            if (!beans.isEmpty()) {
                return beans;
            }
        } catch (Exception e) {
            // The process has ended, or answers something else.
        }
        throw new ToolException("process " + pid + " has no loops of the transport (any more), or runs with"
                + " -Dio.rdmaraw.jmx=false");
    }

    public MBeanServerConnection connection() throws IOException {
        return connector.getMBeanServerConnection();
    }

    Snapshot snapshot() {
        transports();
        try {
            return Snapshot.read(connection());
        } catch (Exception e) {
            throw new ToolException("process " + pid + " does not answer any more: " + e.getMessage(), e);
        }
    }

    public String pid() {
        return pid;
    }

    String heading() {
        String command = title.length() > 60 ? title.substring(0, 57) + "..." : title;
        return "process " + pid + "  " + command;
    }

    @Override
    public void close() {
        try {
            connector.close();
        } catch (IOException alreadyGone) {
            // The process has ended.
        }
    }
}
