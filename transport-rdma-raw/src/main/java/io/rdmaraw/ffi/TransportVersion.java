package io.rdmaraw.ffi;

import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;

/** The version of these classes, and whether the class path has those of another version, too. */
public final class TransportVersion {
    public static final String UNKNOWN = "unknown";

    static final String RESOURCE = "version.properties";

    private TransportVersion() {
    }

    /** Returns the version, such as {@code 1.2.3}, or {@link #UNKNOWN} without its resource. */
    public static String get() {
        URL resource = TransportVersion.class.getResource(RESOURCE);
        return resource == null ? UNKNOWN : read(resource);
    }

    /**
     * Returns the places of the class path that have the transport, each with its version, if it is there in more than
     * one version; else null. Which class is whose then depends on the order of the jars. Not asked of modules, of
     * which there is one.
     */
    public static Map<String, String> conflict() {
        Map<String, String> versions = new LinkedHashMap<>();
        try {
            String resource = TransportVersion.class.getPackageName().replace('.', '/') + "/" + RESOURCE;
            for (URL place : places(TransportVersion.class.getClassLoader(), resource)) {
                String url = place.toString();
                versions.put(url.substring(0, url.length() - resource.length()), read(place));
            }
        } catch (IOException e) {
            return null;
        }
        return versions.values().stream().distinct().count() > 1 ? versions : null;
    }

    static List<URL> places(ClassLoader loader, String resource) throws IOException {
        return Collections.list(loader.getResources(resource));
    }

    private static String read(URL resource) {
        Properties properties = new Properties();
        try (InputStream in = resource.openStream()) {
            properties.load(in);
        } catch (IOException e) {
            // Unknown is an answer too.
        }
        return properties.getProperty("version", UNKNOWN);
    }
}
