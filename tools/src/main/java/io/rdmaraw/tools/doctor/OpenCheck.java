package io.rdmaraw.tools.doctor;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.verbs.DeviceName;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.objects.CompletionQueue;
import io.rdmaraw.verbs.objects.PortAttributes;
import io.rdmaraw.verbs.objects.ProtectionDomain;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.verbs.objects.QueuePairOptions;
import io.rdmaraw.verbs.objects.RawPacketProbe;
import io.rdmaraw.verbs.objects.VerbsContext;
import io.rdmaraw.verbs.objects.VerbsDevices;
import io.rdmaraw.verbs.port.HardwareCounters;
import io.rdmaraw.verbs.softverbs.Softverbs;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Opens the device and a raw-packet queue pair. If this succeeds, the other checks do not matter. A device that another
 * process of this transport uses is not opened, because that process has shown that it can be.
 */
final class OpenCheck {
    /** The message of softverbs (guard.c). The process is missing if it is in another PID namespace. */
    private static final Pattern IN_USE = Pattern.compile(
            "'[^']+' is in use \\((?:process (\\d+) )?of user (\\d+)\\)");
    private static final int ENTRIES = 64;
    /**
     * Maximum time to wait for a link. Some drivers reset the card when a program is attached, and the link needs
     * seconds to return.
     */
    private static final long LINK_PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(8);
    private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private OpenCheck() {
    }

    static List<Finding> check(Host host, String device) {
        List<Finding> findings = new ArrayList<>();
        try (VerbsContext context = VerbsDevices.open(device)) {
            findings.add(Finding.ok("open", device + " can be opened"));
            String mode = Softverbs.modeOf(context);
            if (!mode.isEmpty()) {
                findings.add(Finding.ok("mode", mode));
            }
            // Other ports, such as those of representors in switchdev mode, may have no link.
            findings.add(port(context.ownPort(), () -> context.queryPort(context.ownPort()), LINK_PATIENCE_NANOS));
            if (!new DeviceName(device).isSoftware()) {
                RawPacketProbe.check(context);
                findings.add(Finding.ok("rules", "flow rules with tags can be made"));
                findings.addAll(losses(context));
            }
            findings.add(queuePair(context));
        } catch (VerbsException e) {
            findings.add(refused(host, device, e));
        }
        return findings;
    }

    private static List<Finding> losses(VerbsContext context) {
        String netdev = context.interfaceName(context.ownPort());
        return LossChecks.check(HardwareCounters.of(context.providerDeviceName(),
                context.queryDeviceExtended().portCount()).outOfBufferTotal(),
                netdev == null ? "" : new Ethtool().statistics(netdev).orElse(""));
    }

    /** Describes why a device was not opened. */
    static Finding refused(Host host, String device, VerbsException e) {
        Matcher user = IN_USE.matcher(e.getMessage());
        if (user.find()) {
            return Finding.ok("open", device + " is in use by " + process(host, user.group(1)) + " of user "
                    + user.group(2) + ", a server or client of this transport");
        }
        return Finding.fail("open", e.getMessage(), e.errno() == Errno.EBUSY
                ? "end the program that uses the interface, or choose another device" : "see the other findings");
    }

    private static String process(Host host, String pidOrNull) {
        return pidOrNull == null ? "a process of another PID namespace" : "process " + pidOrNull
                + host.read("proc/" + pidOrNull + "/comm").map(name -> " (" + name + ')').orElse("");
    }

    /** Waits until the port is active or the time is over. */
    static Finding port(int port, Supplier<PortAttributes> query, long patienceNanos) {
        PortAttributes attributes = query.get();
        for (long end = System.nanoTime() + patienceNanos; !attributes.isActive() && System.nanoTime() - end < 0;) {
            LockSupport.parkNanos(POLL_NANOS);
            attributes = query.get();
        }
        if (attributes.linkLayer() == PortAttributes.LINK_LAYER_INFINIBAND) {
            return Finding.fail("port " + port, "is an InfiniBand port, which carries no Ethernet frames",
                    "set it to Ethernet (mlxconfig LINK_TYPE_P1=2)");
        }
        return attributes.isActive() ? Finding.ok("port " + port, "is active")
                : Finding.fail("port " + port, "has no link (state " + attributes.state() + ')',
                        "bring its network device up and check the cable");
    }

    private static Finding queuePair(VerbsContext context) {
        try (ProtectionDomain domain = context.allocateProtectionDomain();
                CompletionQueue completions = context.createCompletionQueue(ENTRIES, null, 0);
                QueuePair queuePair = domain.createQueuePair(QueuePairOptions.builder().completionQueue(completions)
                        .maxSendWr(ENTRIES).maxReceiveWr(ENTRIES).build())) {
            queuePair.toInit(context.ownPort());
            queuePair.toReadyToReceive();
            queuePair.toReadyToSend();
            return Finding.ok("queue pair", "a raw-packet queue pair is ready to send");
        } catch (VerbsException e) {
            return Finding.fail("queue pair", e.getMessage(), "see the other findings; devices that carry the"
                    + " transport are those of mlx5, and soft: devices");
        }
    }
}
