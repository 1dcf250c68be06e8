package io.rdmaraw.verbs;

import java.util.List;
import java.util.ServiceLoader;

/** The libraries of drivers that this project knows. */
final class DriverLibraries {
    private static final List<DriverLibrary> KNOWN = ServiceLoader.load(DriverLibrary.class,
            DriverLibrary.class.getClassLoader()).stream().map(ServiceLoader.Provider::get).toList();

    private DriverLibraries() {
    }

    /** Returns the library of a device's driver, or null when it is not known. */
    static DriverLibrary of(VerbsContext context) {
        return KNOWN.stream().filter(library -> library.drives(context)).findFirst().orElse(null);
    }
}
