#ifndef TEST_KEY_H
#define TEST_KEY_H

/* Made for these tests, and good for nothing else. */
static const char test_key[] =
	"-----BEGIN PRIVATE KEY-----\n"
	"MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDUlUbLR7ySlmS8\n"
	"Qm9iFj9LS4NujWepRfGecZMMcMo1VAhuFlsvQ0d+7uJMObLfV+2HrGOF3QuLaECK\n"
	"yRth/Ep3tNgOLh6cjdgUKtpjQ4lz+Wzy8hRevPpmCyH3G4gD4xjnXcN4bfRa0H7o\n"
	"rWFBiOD+zObynXUBRYwHxgzwEXU6SDEOF7z8srBZLZJnJ/9GRERXa0g+/1sfXRL9\n"
	"4L2XvYwBbBB7mo5cG6OwjYppxKVfW44TJu0YO5XC4uPKBmxkJaGK9wiSvUJNnRIf\n"
	"IkzB3MraPNCIsESphdAJfgKU7Dv382Xzr1azsDzMhIQ5wpKHEjZ/xxWxwdJsCeGN\n"
	"kQRFrHy7AgMBAAECggEAD0xCFh0un004/j6OUxHZx9qCdfaxZ9eI3dzmIZuOREyB\n"
	"93YeursjOSm0ru/qBN4y0Yl2IgB4X7WxYKtnOo5pciLZTMVEiQHrc6Fqf4ExMjTY\n"
	"AnBUR0W0g++3fS0F2o3Bpt4IU9wfHQKVrLspXV9zHYhI8wWiEWTcAQU0vM6XeomX\n"
	"cfCj+WJWWzWMsMkm3DnFXW3D6w6ho8q10ThryKspM5qEFRahom90D9g6dcp7V+tR\n"
	"SLbBTxus/PJhLudgqApCQ0Wx2dH/BABtUzXyFxp0FNlWsjuf+rXMO3qvxNTMsZOk\n"
	"/VB9e62zlPqsct5DnJ5FDhG+Th9DeQ9iJ9oqOAu2+QKBgQD3uOTxGN7+wOhQMTTY\n"
	"L1aoYyauFa75Aj57q/uzvhOrzS619uUZs2322ZNPn2Ctv2YfA/A2NxclhI8kHKO+\n"
	"ykJ37n7NrK29kznqapDWe0fqDrnsK7JTVeXH6smvffrV3jDz6t3N4xcALlZ9vXI1\n"
	"NFCZTJ2lNqWder4QaraaIGbwwwKBgQDbr8oVUn+wdh+lp3Og94mQTxwd2Ty7VFBO\n"
	"kYt0tRJm0QmmR810PTbxoA5cTJsJmOupQ/R7Fj+Z3uFqgzSd+0pz3c8CoEycrOIn\n"
	"4PlJM5AHKh54E7saC/DJlPFSx/Nn6Fz9bmXsbhqjdAQ0mGk8TKf06xGuFFe/kZQp\n"
	"jDbJ4vGEqQKBgBuSCnkC6Z603aY/M8Bz1FM9ZcquQyEXrNia1ZK1rv7KAU7jQbBQ\n"
	"lgaJRKnx9RKhYL5G8+80xnC4hi3guiC75hXvB1HgzB1zS1jZr3EPm3tjVDIC0wAP\n"
	"aVmMuhG8FbTD2/LpyvHlOmQcxCeOdC2Tuvy02D7RDDGwvYKaPeR9grd9AoGBAJrk\n"
	"1xcxk9ZXcvjZmC1mWxfkr25cPPXX/Mdo12ryQIc93A/hkHrkrlivAXESkj2yFHbD\n"
	"8xzWEwHqpAT1faPmChiny82OOHY/bzWu6hUyxdpHWDRRtRooUR3QZlZ3pKcernIB\n"
	"5NtOxnl4035B9/EMG2AUXeLfdP8dJdolgnvWB3QBAoGAQGZ2GyK3g8Jd43Pbs4ZS\n"
	"eOjbEShXXYpC/kjrVTvrKyxjLp/Bvm+KbmVlY3T3SbovmKZU2aA8NhcX6pUAEiQg\n"
	"OIOkB7tRS2JuduxSXOvlF3Ux38OjovM4AmtC0yBp85qU6csY6q5UC5fvMpVGe6zE\n"
	"LPxB8idZVAKJJPAImUALqXk=\n"
	"-----END PRIVATE KEY-----\n";

#endif
