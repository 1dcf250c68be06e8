package io.rdmaraw.tools.doctor;

import io.rdmaraw.verbs.softverbs.InterfaceProgram;
import io.rdmaraw.verbs.softverbs.InterfaceProgram.AttachPoint;
import java.util.List;
import java.util.function.Function;

/** Reports eBPF programs of other software on a network interface and their effect on a device. */
final class ProgramChecks {
    private final Function<String, List<InterfaceProgram>> query;

    /**
     * Creates the checks.
     *
     * @param query {@link InterfaceProgram#of}, or a replacement in tests
     */
    ProgramChecks(Function<String, List<InterfaceProgram>> query) {
        this.query = query;
    }

    List<Finding> check(DeviceKind kind, String netdev) {
        return query.apply(netdev).stream().map(program -> describe(kind, netdev, program)).toList();
    }

    private static Finding describe(DeviceKind kind, String netdev, InterfaceProgram program) {
        String name = (program.name().isEmpty() ? "" : '\'' + program.name() + "' ") + "(id " + program.id() + ')';
        if (program.isOwn()) {
            return Finding.ok("program", name + " on " + netdev + " is of another process of this transport");
        }
        if (program.attachPoint() == AttachPoint.TC) {
            return Finding.ok("program", name + " is a tc program on " + netdev + ": ours comes before it");
        }
        String text = name + " is an XDP program on " + netdev + ": frames that it keeps do not reach us";
        return kind == DeviceKind.XDP
                ? Finding.warn("program", text + "; AF_XDP works beside it in mode tap only",
                        "leave it, or stop its owner for another mode")
                : Finding.warn("program", text, "stop its owner if frames are missing");
    }
}
